/** QR codes, apart from the dashboard's script: few people ever see one. */
export { default as encodeQR } from "qr";
