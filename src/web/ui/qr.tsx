/** A QR code as one SVG path. */
import encodeQR from "qr";

/** Modules of white around the code (ISO/IEC 18004 asks for four). */
const QUIET_ZONE = 4;

export function QrCode({ text, label }: { text: string; label: string }) {
  const modules = encodeQR(text, "raw", { border: QUIET_ZONE });
  const size = modules.length;
  const path = modules.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} />
      <path d={path} />
    </svg>
  );
}
