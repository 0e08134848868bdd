/** What agents store all day must pass both policies. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of other languages are what is tested
import { expect, test } from "bun:test";
import { decide } from "../../src/screen/decide.ts";
import { policiesOf } from "../../src/screen/policies.ts";

const BENIGN: readonly string[] = [
  "550e8400-e29b-41d4-a716-446655440000",
  "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
  "sha256:66459a7e1d074f265f2e7c9d46c01d71941200ed1f8138a36769cf8039833c08",
  '{"iat": 1758519669, "exp": 1762923637}',
  "last_sync=1762021230999 next_sync=1758971962491",
  "snowflake 1234567890123456789",
  "Order #4113962160 shipped, invoice INV-2026-798520",
  "upgraded bun 1.7.28 -> 1.10.14",
  "Chrome/122.0.1196.0 Safari/537.36",
  "OID 1.3.6.1.4.1.311.21.20",
  "lodash@4.17.21 react@18.3.1",
  '"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg=="',
  "color: #1a2b3c; background: rgba(12, 34, 56, 0.7)",
  "at 48.858370, 2.294481",
  "Meeting notes 2026-07-13T14:31:40.200Z",
  "api_key: <your-key>",
  "token: ${TOKEN}",
  "password: xxxx",
  "listening on http://127.0.0.1:7544 (pid 14282)",
  "server 192.168.1.10 and docs host 203.0.113.7",
  "2001:db8::1 is for documentation",
  "ISBN 978-0-92-301508-2",
  "barcode 4300863166967",
  "Range: bytes 139695-1616753/81191160",
  "[0.54538700, -0.63434100, -0.93701200]",
  "git clone git@github.com:acme/app.git",
  "mail your-name@example.com for a demo",
  "noreply@github.com",
  "run 12 tests in 3 suites",
  "drive 5 km, then turn left",
  "the pan is 28 cm wide",
  "a sin of omission",
  "the driver crashed with code 0x8007",
  "credit card ending in 4242 was declined",
  "The form has fields: name, email, phone, ssn.",
  "passport control took two hours",
  "call the function 100000 times",
  "phone support is open 9-17",
  "room 12, floor 3",
  "Suite 3 failed",
  "My reservation ID is HXDUBJ.",
  "user sophia_martin_4574 wants a refund of $1052.07",
  "traceparent: 00-bfeafd1a9e158a2c523968477b49e77b-41de6341717dbf34-01",
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl deploy",
  "RFC 8259, section 7.2",
  "license: Apache-2.0",
  "Lizenz: BSD-3-Clause",
  "2012-01-02 08:00",
  "v1.2.3.4 was released",
  "page 12 of 345",
  "ZIP files over 12345678 bytes",
  "SELECT * FROM users WHERE id = 123456789",
  "eyJpZCI6MTIzLCJwYWdlIjoyfQ==",
  "A1B2C3D4E5",
  "4111 1111 1111 1112",
];
for (const text of BENIGN) {
  test(text.slice(0, 70), () => {
    expect(
      decide(policiesOf({ policies: { block_pii: true, block_secrets: true } }), {
        key: "notes/1",
        value: text,
        metadata: {},
      }),
    ).toEqual({ allowed: true });
  });
}
