/**
 * The words that announce a personal identifier, and how its value is written. With its label beside it
 * a value needs no check digit: a mistyped number is still somebody's. A label that is also an ordinary
 * word or abbreviation says so (`ambiguous`) and then the value must have the exact form.
 */
import type { PiiDetector } from "../finding.ts";

/** How a labelled value is written. */
export interface LabelledForm {
  detector: PiiDetector;
  words: readonly string[];
  /** Length without separators. */
  min: number;
  max: number;
  /** How many of the characters are digits at least. */
  digits: number;
  /** Exact form of the compact value in capitals, where one country's is meant. */
  form?: RegExp;
  /** The words mean other things too: the form is required, and nothing may stand between. */
  ambiguous?: boolean;
}

/** Letters, then digits among letters: "MORGA607054SM9IJ", "U1A123456B"; no name of a software licence. */
const DRIVING_LICENCE = /^(?=(?:.*\d){4})[A-Z]{1,5}\d[A-Z0-9]{6,14}$/;

export const LABELLED_FORMS: readonly LabelledForm[] = [
  {
    detector: "us_ssn", min: 9, max: 9, digits: 9,
    words: ["social security number", "social security no", "social security", "ssn", "soc sec", "social sec", "ss number", "ssno", "social insurance ssn"],
  },
  { detector: "us_itin", min: 9, max: 9, digits: 9, form: /^9/, words: ["itin", "individual taxpayer identification number", "individual taxpayer id", "taxpayer identification number"] },
  {
    detector: "passport", min: 6, max: 12, digits: 2,
    words: [
      "passport number", "passport no", "passport", "passports", "passport id", "passnummer", "pass nr", "pass-nr", "passport nr", "passeport no", "pasaporte no", "pasaporte núm", "pas no", "paszport nr", "passaporto n", "passaporte nº", "reisepass", "reisepassnummer", "passeport", "numéro de passeport", "pasaporte",
      "número de pasaporte", "passaporto", "numero di passaporto", "passaporte", "paspoort", "paspoortnummer", "paszport", "numer paszportu", "pas číslo", "cestovní pas",
      "pasnummer", "passi number", "passinumero", "pass nummer", "pașaport", "pasaport", "pasaport no", "паспорт", "загранпаспорт", "διαβατήριο", "여권", "여권번호", "パスポート", "旅券", "护照", "護照", "护照号", "דרכון", "جواز السفر", "جواز", "útlevél", "putovnica", "potni list", "hộ chiếu", "หนังสือเดินทาง",
    ],
  },
  {
    detector: "driver_license", min: 5, max: 20, digits: 3,
    words: [
      "driver license", "drivers license", "driver's license", "driver licence", "drivers licence", "driver's licence", "driving license", "driving licence", "driver license number", "license number", "licence number",
      "dl number", "dl no", "driver id", "driving permit", "driver permit", "führerschein", "führerscheinnummer", "permis de conduire", "carnet de conducir", "permiso de conducir", "licencia de conducir", "patente di guida", "patente", "numero patente",
      "carta de condução", "carteira de motorista", "cnh", "rijbewijs", "rijbewijsnummer", "prawo jazdy", "körkort", "kørekort", "førerkort", "ajokortti", "řidičský průkaz", "sürücü belgesi", "ehliyet", "водительское удостоверение", "права", "운전면허", "운전면허증", "運転免許", "驾驶证", "駕駛執照", "license plate driver",
    ],
  },
  { detector: "driver_license", min: 8, max: 17, digits: 4, form: DRIVING_LICENCE, ambiguous: true, words: ["licence", "license"] },
  {
    detector: "national_id", min: 5, max: 20, digits: 4,
    words: [
      "national id", "national id number", "national identity", "national identity number", "national identification number", "national identification", "national insurance number", "national insurance no", "national insurance", "identity card", "identity card number", "identity number", "identity document",
      "id card", "id card number", "idcard", "citizen id", "citizenship number", "citizen number", "personal id", "personal id number", "personal identity number", "personal identity code", "personal identification number", "personal code", "personal number", "identity code", "id number", "identification number", "identification no", "national number", "national register number", "national registry number", "resident id", "resident registration number", "residence permit", "residence permit number", "residence card", "government id", "birth number", "population register", "voter id", "foreigner registration number", "alien registration number", "alien number", "uniform civil number", "embg", "carné de identidad", "carnet de identidad", "personal no", "state id", "national identity card", "national identity document", "nin number", "identity no", "ic number", "ic no", "id-nummer", "identitetsnummer", "identifikační číslo", "numer identyfikacyjny", "voter id number", "electoral card",
      "aadhaar", "aadhar", "aadhaar number", "aadhaar no", "uidai", "social insurance number", "social insurance no", "rsa id", "sa id", "za id", "south african id", "south african id number", "thai id", "thai national id", "turkish id", "tc kimlik no", "tc kimlik", "tckn", "tckn numarası", "kimlik numarası", "kimlik no", "t.c. kimlik", "türk kimlik numarası",
      "rijksregisternummer", "numéro national", "registre national", "bis number", "bisnummer", "numéro bis", "bis nummer", "insz", "niss", "burgerservicenummer", "bsn", "bsn nummer", "sofinummer", "fødselsnummer", "fodselsnummer", "fnr", "fødselsnr", "norwegian national id", "d-nummer", "personnummer", "personnr", "samordningsnummer", "swedish personal identity number", "cpr", "cpr nummer", "cpr number", "cpr nr", "personnummer dk", "kennitala", "hetu", "henkilötunnus", "henkilötunnukseni", "sotu", "finnish id", "finnish id code", "finnish personal identity code", "personbeteckning",
      "isikukood", "estonian personal code", "asmens kodas", "lithuanian personal code", "personas kods", "latvian personal code", "pesel", "numer pesel", "pesel number", "dowód osobisty", "numer dowodu", "rodné číslo", "rodne cislo", "czech birth number", "slovak birth number", "číslo občanského průkazu", "občanský průkaz", "cnp", "cod numeric personal", "codul numeric personal", "egn", "егн", "единен граждански номер", "emso", "emšo", "jmbg", "јмбг", "matični broj", "oib", "osobni identifikacijski broj", "személyi szám", "személyi igazolvány", "személyazonosító", "amka", "αμκα", "αριθμός ταυτότητας", "ταυτότητα",
      "dni", "número de dni", "nie", "número de identidad de extranjero", "documento nacional de identidad", "cédula", "cedula de ciudadania", "cédula de identidad", "número de cédula", "curp", "clave curp", "clave única de registro de población", "clave de elector", "rut", "run chile", "rol único tributario", "rol unico nacional", "cpf", "número de cpf", "cadastro de pessoas físicas", "registro geral", "rg número", "cartão de cidadão", "cartão do cidadão", "bilhete de identidade", "título de eleitor", "carta d'identità", "carta di identità", "numero carta d'identità", "codice fiscale", "codicefiscale",
      "personalausweis", "personalausweisnummer", "ausweisnummer", "ausweis nr", "personalausweis nr", "identitätskarte", "ahv", "ahv number", "ahv nummer", "ahv-nr", "avs", "numéro avs", "numero avs", "sozialversicherungsnummer", "svnr", "sv nummer", "rentenversicherungsnummer", "rvnr", "versicherungsnummer", "carte d'identité", "carte nationale d'identité", "numéro de sécurité sociale", "numéro sécu", "sécurité sociale", "nir", "insee",
      "pps number", "ppsn", "pps no", "personal public service number", "nino", "ni number", "nin", "national insurance nr", "teudat zehut", "israeli id", "israeli id number", "תעודת זהות", "מספר זהות", "ת.ז", "cnic", "cnic number", "nicop", "nadra", "nic number", "sri lankan nic", "nomor ktp", "ktp", "nomor induk kependudukan", "mykad", "mykad number", "nric", "nric number", "no kad pengenalan", "kad pengenalan", "fin number", "hkid", "hong kong id", "philsys", "philsys number", "umid", "sss number", "cccd", "cmnd", "căn cước", "số căn cước", "chứng minh nhân dân", "my number", "mynumber", "マイナンバー", "個人番号", "身份证", "身份证号", "身份证号码", "身分證", "身分證字號", "居民身份证", "주민등록번호", "주민번호", "외국인등록번호", "เลขประจำตัวประชาชน", "บัตรประชาชน", "เลขบัตรประชาชน", "الرقم القومي", "رقم الهوية", "الهوية الوطنية", "بطاقة التعريف", "کد ملی", "شماره ملی", "снилс", "снилс номер", "snils", "idnp", "rnokpp", "iqama", "iqama number", "emirates id", "civil id", "huduma", "ghana card", "bvn", "national identification number nigeria", "epic number", "epic no",
    ],
  },
  { detector: "national_id", min: 9, max: 9, digits: 9, form: /^[1-9]\d{8}$/, ambiguous: true, words: ["sin", "nas"] },
  { detector: "national_id", min: 7, max: 13, digits: 7, ambiguous: true, words: ["cin", "id no", "id nr", "cni", "elector id", "identity"], form: /^[A-Z]{0,2}\d{7,13}[A-Z]?$/ },
  { detector: "national_id", min: 11, max: 13, digits: 11, ambiguous: true, words: ["rrn"], form: /^\d{11}$|^\d{6}[1-8]\d{6}$/ },
  { detector: "national_id", min: 8, max: 9, digits: 7, ambiguous: true, words: ["pps"], form: /^\d{7}[A-W][A-IW]?$/ },
  { detector: "national_id", min: 16, max: 16, digits: 16, ambiguous: true, words: ["nik"], form: /^\d{16}$/ },
  { detector: "national_id", min: 10, max: 12, digits: 9, ambiguous: true, words: ["nic"], form: /^\d{9}[VX]$|^(?:19|20)\d{10}$/ },
  { detector: "national_id", min: 9, max: 9, digits: 7, ambiguous: true, words: ["fin"], form: /^[STFGM]\d{7}[A-Z]$/ },
  { detector: "national_id", min: 7, max: 12, digits: 7, ambiguous: true, words: ["ci", "cc", "rg", "ine", "nss", "pis", "nis", "taj"], form: /^\d{11}$|^\d{8}\d[A-Z0-9]{2}\d$|^\d{9}$/ },
  {
    detector: "tax_id", min: 7, max: 16, digits: 5,
    words: [
      "tax id", "tax id number", "tax identification number", "tax identification no", "tax identification", "tax identifier", "taxpayer id", "taxpayer number", "taxpayer reference", "tax number", "tax no", "tax reference", "tax file number", "tfn", "steuer-idnr", "steuer idnr", "st.-nr.", "stnr", "steuer id nr", "numéro de contribuable", "código fiscal", "tax code", "tax registration number", "tax card", "fiscal code", "fiscal number", "taxpayer identification", "taxpayer code", "tin number", "personal tax id", "unique taxpayer reference", "utr", "utr number", "employer identification number", "ein number", "austrian tax number", "german tax number", "steuernummer", "steuer nr", "steuer-id", "steuer id", "steuerid", "steueridentifikationsnummer", "steuerliche identifikationsnummer", "identifikationsnummer", "idnr", "abgabenkontonummer", "steuerliche id",
      "nif", "número de contribuinte", "número de identificação fiscal", "número de identificación fiscal", "contribuinte", "numéro fiscal", "identifiant fiscal", "numéro d'identification fiscale", "partita iva personale", "cuit", "cuil", "cdi number", "registro federal de contribuyentes", "nit number", "ruc number", "pan card", "pan number", "permanent account number", "gst pan", "инн", "идентификационный номер налогоплательщика", "afm", "αφμ", "αριθμός φορολογικού μητρώου", "nip", "numer nip", "dič", "dic number", "adószám", "adóazonosító", "adóazonosító jel", "vergi numarası", "vergi no", "vergi kimlik", "skattenummer", "btw id", "fiscaal nummer", "ird number", "npwp", "nomor pokok wajib pajak", "税号", "纳税人识别号", "מספר תיק", "рнокпп", "іпн", "ідентифікаційний номер", "данъчен номер", "cod fiscal", "cif personal", "porezni broj", "davčna številka", "maksukohustuslase", "matricule", "trn number", "bir tin", "numero fiscal", "identificación tributaria",
    ],
  },
  { detector: "tax_id", min: 8, max: 13, digits: 7, form: /^\d{8,13}[A-Z]?$|^\d{3}[A-Z]\d{5,9}$/, ambiguous: true, words: ["tin", "ein", "atin", "ptin", "ird", "vkn", "mst"] },
  { detector: "tax_id", min: 12, max: 13, digits: 6, form: /^[A-ZÑ&]{3,4}\d{6}[A-Z0-9]{3}$/, ambiguous: true, words: ["rfc"] },
  { detector: "tax_id", min: 10, max: 12, digits: 10, form: /^\d{10}$|^\d{12}$/, ambiguous: true, words: ["inn"] },
  { detector: "tax_id", min: 10, max: 10, digits: 4, form: /^[A-Z]{5}\d{4}[A-Z]$/, ambiguous: true, words: ["pan"] },
  {
    detector: "medical_id", min: 6, max: 22, digits: 4,
    words: [
      "nhs number", "nhi", "nhi number", "taj szám", "health service number", "insurance card number", "healthcare number", "healthcare id", "nhs no", "nhs", "nhs id", "medicare number", "medicare no", "medicare", "medicare card", "medicare id", "medicare beneficiary identifier", "mbi", "hicn", "medicaid", "medicaid number", "medicaid id", "medical record number", "medical record", "medical record no", "mrn", "patient id", "patient number", "patient no", "patient identifier", "health card", "health card number", "health insurance number", "health insurance", "health insurance id", "health insurance no", "health number", "personal health number", "health id", "ohip", "phn", "ramq", "insurance member id", "policy holder id", "insurance number", "insurance id", "chi number", "hospital number", "hospital id",
      "kvnr", "krankenversichertennummer", "krankenversicherungsnummer", "krankenkassennummer", "versichertennummer", "versicherten nr", "krankenkasse", "gesundheitskarte", "carte vitale", "tarjeta sanitaria", "número de tarjeta sanitaria", "tessera sanitaria", "cartão de saúde", "cartão nacional de saúde", "cns número", "número de utente", "zorgnummer", "polisnummer", "ehic", "ehic number", "european health insurance card", "ihi", "individual healthcare identifier", "abha", "npi number", "dea number", "dea no",
    ],
  },
  {
    detector: "bank_account", min: 5, max: 30, digits: 5,
    words: [
      "bank account", "bank account number", "bank account no", "account number", "account no", "account nr", "account num", "acct number", "acct no", "acct num", "acct", "acct #", "account #", "checking account", "savings account", "current account", "checking acct", "savings acct", "bank acct", "routing number", "routing no", "aba routing", "aba number", "routing transit number", "sort code", "bsb", "bsb number", "transit number", "institution number", "bank account iban", "iban", "iban number", "account iban", "beneficiary account", "clabe", "clabe interbancaria", "cbu", "cvu", "ifsc", "kontonummer", "konto nr", "kontonr", "bankkonto", "bankverbindung", "bankleitzahl", "blz", "numéro de compte", "compte bancaire", "rib", "número de cuenta", "cuenta bancaria", "número de conta", "conta bancária", "conta corrente", "numero di conto", "conto corrente", "conto bancario", "numer konta", "numer rachunku", "rachunek bankowy", "rekeningnummer", "bankrekening", "kontonummer bank", "tilinumero", "bankszámlaszám", "číslo účtu", "hesap numarası", "номер счета", "расчетный счет", "银行账号", "银行卡号", "口座番号", "계좌번호", "nomor rekening",
    ],
  },
  {
    detector: "credit_card", min: 12, max: 19, digits: 12, form: /^\d{12,19}$/,
    words: ["credit card", "credit card number", "credit card no", "debit card", "debit card number", "card number", "card no", "cardnumber", "card num", "card #", "card", "cards", "cc number", "cc num", "ccnum", "cc no", "pan number", "primary account number", "visa", "mastercard", "amex", "american express", "discover card", "maestro", "payment card", "bank card", "kreditkarte", "kreditkartennummer", "kartennummer", "carte bancaire", "carte de crédit", "numéro de carte", "tarjeta de crédito", "tarjeta", "número de tarjeta", "carta di credito", "numero carta", "cartão de crédito", "cartão", "número do cartão", "creditcard", "kaartnummer", "karta kredytowa", "numer karty", "kreditkort", "kortnummer", "luottokortti", "kredi kartı", "номер карты", "кредитная карта", "信用卡", "クレジットカード", "신용카드", "カード番号"],
  },
  {
    detector: "vehicle_id", min: 3, max: 10, digits: 1, form: /^[A-ZÄÖÜ0-9]{2,10}$/,
    words: ["license plate", "licence plate", "license plate number", "number plate", "plate number", "plate no", "registration plate", "vehicle registration", "vehicle registration number", "vehicle reg", "car registration", "reg plate", "licence plate number", "car plate", "kennzeichen", "kfz-kennzeichen", "autokennzeichen", "nummernschild", "plaque d'immatriculation", "immatriculation", "numéro d'immatriculation", "placa del vehículo", "placa do carro", "targa", "numero di targa", "kenteken", "tablica rejestracyjna", "numer rejestracyjny", "registreringsnummer", "nummerplade", "rekisterinumero", "rekisteritunnus", "spz", "plaka", "rendszám", "госномер", "номерной знак", "车牌", "车牌号", "車牌", "ナンバープレート", "차량번호", "targhe"],
  },
  { detector: "vehicle_id", min: 4, max: 8, digits: 1, form: /^(?=.*[A-Z])(?=.*\d)[A-Z0-9]{4,8}$/, ambiguous: true, words: ["plate", "placa", "registration number", "registration", "matrícula", "rego"] },
  { detector: "vehicle_id", min: 11, max: 17, digits: 3, form: /^[A-HJ-NPR-Z0-9]{11,17}$/, words: ["vin", "vin number", "vehicle identification number", "chassis number", "chassis no", "fahrgestellnummer", "fahrzeug-identifizierungsnummer", "fin nummer", "numéro de châssis", "número de chasis", "número de bastidor", "numero di telaio", "chassi"] },
  { detector: "device_id", min: 14, max: 17, digits: 14, form: /^\d{14,17}$/, words: ["imei", "imei number", "imeisv", "device imei", "meid", "imsi", "iccid"] },
  { detector: "device_id", min: 8, max: 40, digits: 3, words: ["udid", "idfa", "android id", "advertising id", "gaid", "device serial number"], form: /^(?=[0-9A-F]*\d)[0-9A-F]{15,40}$|^[A-Z0-9]{15,20}$/ },
];
