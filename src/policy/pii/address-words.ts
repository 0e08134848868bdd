/** The words of postal addresses. */

/** Behind a house number and a name these make an address by themselves. */
export const STREET_WORDS: readonly string[] = [
  "street", "avenue", "boulevard", "blvd", "road", "lane", "drive", "terrace", "crescent", "highway", "parkway", "turnpike", "expressway",
  "ave", "rd", "ln", "dr", "st", "ct", "court", "place", "pl", "way", "square", "sq", "circle", "cir", "trail", "alley", "close", "grove", "gardens", "mews", "hill", "park", "ridge", "row", "walk", "view", "route", "broadway", "esplanade", "quay", "pike", "plaza", "heights", "hwy", "pkwy", "ter", "cres", "loop", "run", "crossing", "bend", "path", "point", "meadow", "mill", "mount", "valley", "village",
];

/** Of STREET_WORDS, those that need a town, a postcode or a unit beside them. */
export const WEAK_STREET_WORDS: ReadonlySet<string> = new Set([
  "dr", "st", "ct", "court", "place", "pl", "way", "square", "sq", "circle", "cir", "trail", "alley", "close", "grove", "gardens", "mews", "hill", "park", "ridge", "row", "walk", "view", "route", "esplanade", "quay", "pike", "plaza", "heights", "ter", "loop", "run", "crossing", "bend", "path", "point", "meadow", "mill", "mount", "valley", "village", "ln", "rd", "ave", "drive", "road", "lane", "highway", "hwy", "broadway",
]);

/** Before the name: "rue de la Paix 5", "12, Via Roma", "ul. Długa 7". */
export const STREET_PREFIXES: readonly string[] = [
  "rue", "avenue", "boulevard", "chemin", "impasse", "allée", "place", "quai", "cours", "calle", "avenida", "av.", "avda", "plaza", "paseo", "carrera", "camino", "carretera", "ronda", "travesía", "via", "viale", "piazza", "piazzetta", "corso", "strada", "vicolo", "largo", "contrada", "borgo", "rúa", "carrer", "rua", "travessa", "praça", "alameda", "rodovia", "estrada", "ulica", "ul.", "aleja", "al.", "rynek", "osiedle", "os.", "plac", "trg", "ulitsa", "улица", "ул.", "проспект", "переулок", "jalan", "jl.", "calea", "bulevardul", "bd.", "οδός", "λεωφόρος",
];

/** At the end of the name, in one word with it: "Bahnhofstraße 7", "Storgatan 12". */
export const STREET_ENDINGS: readonly string[] = [
  "straße", "strasse", "str.", "gasse", "platz", "allee", "weg", "ufer", "damm", "ring", "hütte", "gatan", "vägen", "gränd", "torg", "gata", "veien", "vegen", "gate", "vej", "gade", "vænget", "alle", "alléen", "stræde", "straat", "laan", "plein", "kade", "singel", "gracht", "dreef", "katu", "tie", "kuja", "rinne", "polku", "utca", "út", "útja", "tér", "körút", "ulice", "náměstí", "třída", "caddesi", "cad.", "sokak", "sokağı", "sk.", "bulvarı", "mahallesi", "vegur", "gata", "stígur",
];

/** A part of a building: with its number, and a house number before it, an address. */
export const UNIT_WORDS: readonly string[] = [
  "suite", "ste", "apt", "apartment", "apto", "apartamento", "appartement", "appartamento", "appart", "unit", "flat", "floor", "fl", "room", "rm", "building", "bldg", "po box", "p.o. box", "p. o. box", "post office box", "postfach", "boîte postale", "apartado", "casella postale", "caixa postal", "box", "postboks", "postbus", "lgh", "leil", "zimmer", "wohnung", "whg", "étage", "piso", "puerta", "interno", "scala", "lejlighed", "huoneisto", "daire", "kat", "no:", "bloco", "lote", "depto", "departamento", "edificio", "etg", "sal",
];

/** Words that announce an address. */
export const ADDRESS_LABELS: readonly string[] = [
  "home address", "postal address", "mailing address", "street address", "shipping address", "billing address", "delivery address", "residential address", "permanent address", "current address", "work address", "new address", "old address", "full address", "address line", "address1", "address 1", "address line 1", "addr1", "street1", "street line", "address of", "your address", "my address", "his address", "her address", "address", "addr", "street", "lives at", "live at", "living at", "lived in", "live in", "lives in", "resides at", "residing at", "resident at", "residence", "domicile", "moved to", "ship to", "ship it to", "deliver to", "delivered to", "send it to", "send a new one to", "mail it to", "ship the replacement to", "pick up at", "located at", "meet you at", "visit me at", "come to", "stay at", "staying at",
  "adresse", "anschrift", "wohnadresse", "lieferadresse", "rechnungsadresse", "wohnhaft", "wohnt in", "adresse postale", "domicilié", "demeurant", "habite au", "dirección", "domicilio", "vive en", "indirizzo", "residente in", "abita in", "endereço", "morada", "reside em", "adres", "adres zamieszkania", "zamieszkały", "woonadres", "adress", "bostadsadress", "osoite", "kotiosoite", "adresa", "bydliště", "lakcím", "cím", "ev adresi", "ikamet", "адрес", "проживает", "διεύθυνση", "地址", "住址", "住所", "주소", "ที่อยู่", "địa chỉ", "عنوان", "כתובת", "alamat",
];

/** Of STREET_PREFIXES, those that hardly mean anything else before a capital. */
export const CLEAR_PREFIXES: ReadonlySet<string> = new Set([
  "rue", "impasse", "chemin", "allée", "calle", "avenida", "avda", "paseo", "carretera", "travesía", "viale", "piazza", "piazzetta", "corso", "strada", "vicolo", "contrada", "rúa", "carrer", "rua", "travessa", "praça", "alameda", "rodovia", "estrada", "ulica", "ul.", "aleja", "rynek", "osiedle", "trg", "ulitsa", "улица", "ул.", "проспект", "переулок", "jalan", "jl.", "calea", "bulevardul", "λεωφόρος",
]);
