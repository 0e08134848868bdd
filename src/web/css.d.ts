/** Style sheets are bundled into one file beside the script. */
declare module "*.css";
