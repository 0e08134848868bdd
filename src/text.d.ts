/** Texts are imported `with { type: "text" }`, so that the binary carries them. */
declare module "*.sql" {
  const text: string;
  export default text;
}

declare module "*.txt" {
  const text: string;
  export default text;
}
