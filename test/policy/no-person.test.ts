/** What has the form of personal data and belongs to nobody: ids of mails, addresses of groups. The same form beside it counts. */
import { describe, expect, test } from "bun:test";
import { decide, findingsOf } from "../../src/screen/decide.ts";
import { policiesOf } from "../../src/screen/policies.ts";

const BOTH = policiesOf({ policies: { block_pii: true, block_secrets: true } });
const found = (value: string): string[] =>
  findingsOf(decide(BOTH, { key: "k", value, metadata: {} })).map(({ start, end }) => value.slice(start, end));

/** Ids that mail programs and services make. */
const IDS = [
  "CAGx7=Rw0_mNq4tZ+Kb9vLs2@mail.gmail.com",
  "AS8PR04MB7701C2E9F4A1B0@AS8PR04MB7701.eurprd04.prod.outlook.com",
  "0100018f2b6c7d3e-5a4f-000000@email.amazonses.com",
  "1c9a4e02-77b1-4f0e-9d35-6b8e21f0a4cd@mailjet.net",
  "20270419113207.A31906@builder.acme-mail.org",
  "87sfk1o9vd.fsf@quill.enyo.net",
];
/** Fields, each with the place of one id. */
const FIELDS: readonly ((id: string) => string)[] = [
  ...["Message-ID", "Message-Id", "In-Reply-To", "References", "Resent-Message-ID", "Content-ID", "X-Thread-ID"].map(
    (name) => (id: string) => `Subject: offer\n${name}: <${id}>\nDate: Mon, 19 Apr 2027 11:32:07 +0000\n`,
  ),
  (id) => `Message-ID:\n <${id}>\n`,
  (id) => `> In-Reply-To: <${id}>`,
  (id) => `References: <first.1@quill.enyo.net>\n\t<second.2@quill.enyo.net>\n <${id}>`,
  (id) => `> References: <first.1@quill.enyo.net>\n>  <${id}>`,
  (id) => `{"messageId":"<${id}>","inReplyTo":"<${id}>","references":["<${id}>","<${id}>"]}`,
  (id) => `{"name": "In-Reply-To", "value": "<${id}>"}`,
  (id) => `postfix/cleanup[801]: 9C1F: message-id=<${id}>`,
  (id) => `mail["Message-ID"] = "<${id}>"`,
  (id) => `answered the message id <${id}>`,
];

describe("ids of mails", () => {
  test.each(IDS)("%s", (id) => {
    expect(FIELDS.filter((field) => found(field(id)).length > 0).map((field) => field(id))).toEqual([]);
  });

  test("an address beside them is found", () => {
    const person = "mila.brandt@fastpost.io";
    for (const field of FIELDS) {
      expect(found(`${field(IDS[0] as string)}\nFrom: Mila <${person}>`)).toEqual([person]);
      expect(found(`Reply-To: <${person}>\n${field(IDS[1] as string)}`)).toEqual([person]);
    }
  });

  test.each([
    "References: mila.brandt@fastpost.io",
    "References: Mila Brandt <mila.brandt@fastpost.io>",
    "user_id: mila.brandt@fastpost.io",
    "X-User-Id: mila.brandt@fastpost.io",
    "Email ID: mila.brandt@fastpost.io",
    "uid: mila.brandt@fastpost.io",
    "Cc: <mila.brandt@fastpost.io>",
  ])("%s is an address", (text) => {
    expect(found(text)).toEqual(["mila.brandt@fastpost.io"]);
  });
});

/** Who is meant, in hexadecimal. */
const NO_DEVICES: Readonly<Record<string, string>> = {
  everybody: "ffffffffffff",
  nobody: "000000000000",
  "a group of IPv4": "01005e4c0102",
  "a group of IPv6": "3333ff9a1c07",
  bridges: "0180c200000e",
  Cisco: "01000ccccccd",
  "another group": "0b8e7dc10f42",
  "a virtual router": "00005e000117",
  "a virtual router of Cisco": "00000c07ac05",
  documentation: "00005e00534a",
};
const pairs = (digits: string, sign: string): string => (digits.match(/../g) ?? []).join(sign);
const WRITTEN: readonly ((digits: string) => string)[] = [
  (digits) => pairs(digits, ":"),
  (digits) => pairs(digits, "-").toUpperCase(),
  (digits) => (digits.match(/.{4}/g) ?? []).join("."),
];
const LISTINGS: readonly ((address: string) => string)[] = [
  (address) => `link/ether brd ${address}`,
  (address) => `frame to ${address} on port 7`,
  (address) => `{"dst_mac": "${address}"}`,
  (address) => `mac table: ${address} STATIC CPU`,
];

test.each(Object.entries(NO_DEVICES))("the MAC address of %s", (_, digits) => {
  const texts = WRITTEN.flatMap((write) => LISTINGS.map((list) => list(write(digits))));
  expect(texts.filter((text) => found(text).length > 0)).toEqual([]);
});

test.each(["3c22fb17a9c4", "0242ac1100a7", "5e8b41d09f36"])("the MAC address %s of a device", (digits) => {
  const texts = WRITTEN.flatMap((write) => LISTINGS.map((list) => list(write(digits))));
  // Three groups of four need a word for what they are.
  const mayBeOther = (text: string) => text.startsWith("frame") && text.includes(".");
  expect(texts.filter((text) => found(text).length === 0 && !mayBeOther(text))).toEqual([]);
});

test("what somebody calls the MAC address of a device is one, although it is a group's", () => {
  expect(found("her MAC address is 0d:4f:9a:11:c2:7e")).toHaveLength(1);
  expect(found("multicast MAC address is 0d:4f:9a:11:c2:7e")).toEqual([]);
});
