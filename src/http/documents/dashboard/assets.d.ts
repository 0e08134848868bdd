/** The bundle of `src/web`. Each import is the path of the file. */
declare module "*/assets/dashboard.js" {
  const path: string;
  export default path;
}
declare module "*/assets/dashboard.css" {
  const path: string;
  export default path;
}
