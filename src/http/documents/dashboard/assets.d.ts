/** What the build makes of `src/web`; each import is the file's path. */
declare module "*/assets/dashboard.js" {
  const path: string;
  export default path;
}
declare module "*/assets/dashboard.css" {
  const path: string;
  export default path;
}
