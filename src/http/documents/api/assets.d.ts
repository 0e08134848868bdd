/** Files of a package that the build embeds; each import is the file's path. */
declare module "swagger-ui-dist/*" {
  const path: string;
  export default path;
}
