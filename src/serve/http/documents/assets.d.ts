/** Files that the build embeds, of a package and of `src/web`. Each import is the path of the file. */
declare module "*.woff2" {
  const path: string;
  export default path;
}
declare module "*/look.css" {
  const path: string;
  export default path;
}
declare module "swagger-ui-dist/*" {
  const path: string;
  export default path;
}
declare module "*/assets/dashboard.js" {
  const path: string;
  export default path;
}
declare module "*/assets/qr-code.js" {
  const path: string;
  export default path;
}
declare module "*/assets/dashboard.css" {
  const path: string;
  export default path;
}
