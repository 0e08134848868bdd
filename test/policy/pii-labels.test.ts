/** Every label finds a value written for it, in the ways that people and programs write labels. */
import { expect, test } from "bun:test";
import { decide } from "../../src/policy/decide.ts";

const found = (text: string) => {
  const decision = decide({ blockPii: true, blockSecrets: false }, { key: "k", value: text, metadata: {} });
  return decision.allowed ? [] : decision.findings.map((one) => one.detector);
};

/** Detector, label and a value made up for it. */
const LABELLED: readonly (readonly [detector: string, label: string, value: string])[] = [
  ["us_ssn", "SSN", "543-21-9876"], ["us_ssn", "social security number", "543 21 9876"], ["us_ssn", "ssn", "543219876"],
  ["us_itin", "ITIN", "912-78-1234"], ["passport", "passport number", "X12345678"], ["passport", "Reisepassnummer", "C01X0006H"],
  ["passport", "numéro de passeport", "14AB12345"], ["passport", "pasaporte", "XDD123456"], ["passport", "numero di passaporto", "YA1234567"],
  ["passport", "paspoortnummer", "NXX12R4L8"], ["passport", "护照号", "E12345678"], ["passport", "旅券", "TK1234567"], ["passport", "паспорт", "4509 123456"],
  ["passport", "passport_id", "561234567"], ["driver_license", "driver's license", "D1234567"], ["driver_license", "driving licence number", "JONES710153J99EF"],
  ["driver_license", "Führerscheinnummer", "B072RRE2I55"], ["driver_license", "permis de conduire", "12AA12345"], ["driver_license", "patente di guida", "U1K711J11M"],
  ["driver_license", "rijbewijsnummer", "5012345678"], ["driver_license", "운전면허", "11-22-123456-12"], ["driver_license", "CNH", "02650306461"],
  ["national_id", "national id", "987654321"], ["national_id", "Personalausweisnummer", "L01X00T471"], ["national_id", "DNI", "12345678Z"],
  ["national_id", "NIE", "X1234567L"], ["national_id", "codice fiscale", "RSSMRA80A01H501U"], ["national_id", "numéro de sécurité sociale", "1 85 05 78 006 084 91"],
  ["national_id", "BSN", "111222333"], ["national_id", "rijksregisternummer", "85.07.30-033.28"], ["national_id", "fødselsnummer", "01019912345"],
  ["national_id", "personnummer", "811228-9874"], ["national_id", "CPR-nummer", "211062-5629"], ["national_id", "henkilötunnus", "131052-308T"],
  ["national_id", "kennitala", "450401-3150"], ["national_id", "isikukood", "37605030299"], ["national_id", "asmens kodas", "33309240064"],
  ["national_id", "personas kods", "161175-19997"], ["national_id", "PESEL", "44051401359"], ["national_id", "rodné číslo", "710319/2745"],
  ["national_id", "CNP", "1630615123457"], ["national_id", "ЕГН", "7523169263"], ["national_id", "JMBG", "0101006500006"], ["national_id", "OIB", "33392005961"],
  ["national_id", "EMŠO", "0101006500006"], ["national_id", "ΑΜΚΑ", "01013099997"], ["national_id", "TC Kimlik No", "17291716060"], ["national_id", "תעודת זהות", "039337423"],
  ["national_id", "South African ID", "7503305044089"], ["national_id", "CPF", "390.533.447-05"], ["national_id", "CURP", "BOXW310820HNERXN09"],
  ["national_id", "RUT", "12.531.909-2"], ["national_id", "cédula", "2199256-3"], ["national_id", "DNI", "20.123.456"], ["national_id", "Aadhaar", "2341 2341 2346"],
  ["national_id", "voter id", "WKH1186253"], ["national_id", "NRIC", "S1234567D"], ["national_id", "HKID", "A123456(3)"], ["national_id", "MyKad", "770305-02-1234"],
  ["national_id", "NIK", "3171011708450001"], ["national_id", "เลขประจำตัวประชาชน", "3100600445635"], ["national_id", "身份证号", "110105194912310021"],
  ["national_id", "身分證字號", "A123456789"], ["national_id", "マイナンバー", "6214 9832 0257"], ["national_id", "주민등록번호", "971013-9019902"],
  ["national_id", "CNIC", "34201-0891231-8"], ["national_id", "Emirates ID", "784-1990-1234567-1"], ["national_id", "СНИЛС", "112-233-445 95"],
  ["national_id", "SIN", "123 456 782"], ["national_id", "PPS number", "6433435F"], ["national_id", "National Insurance number", "AB 12 34 56 C"],
  ["national_id", "AHV", "756.9217.0769.85"], ["national_id", "social insurance number", "123-456-782"], ["national_id", "Sozialversicherungsnummer", "15070649C103"],
  ["national_id", "CCCD", "012345678912"], ["national_id", "cartão de cidadão", "00000000 0 ZZ4"], ["national_id", "carta d'identità", "CA00000AA"],
  ["tax_id", "tax id", "123456788"], ["tax_id", "Steuer-ID", "36 574 261 809"], ["tax_id", "Steuernummer", "181/815/08155"], ["tax_id", "NIF", "501964843"],
  ["tax_id", "numéro fiscal", "0701987765432"], ["tax_id", "CUIT", "20-05536168-2"], ["tax_id", "RFC", "GODE561231GR8"], ["tax_id", "PAN", "AAPPV8261K"],
  ["tax_id", "ИНН", "500100732259"], ["tax_id", "ΑΦΜ", "094259216"], ["tax_id", "NIP", "8567346215"], ["tax_id", "adóazonosító jel", "8071592153"],
  ["tax_id", "TFN", "123 456 782"], ["tax_id", "UTR", "1955839661"], ["tax_id", "NPWP", "01.312.166.0-091.000"], ["tax_id", "vergi no", "4540536920"],
  ["medical_id", "NHS number", "943 476 5870"], ["medical_id", "Medicare number", "2123 45670 1"], ["medical_id", "MBI", "1EG4-TE5-MK73"], ["medical_id", "MRN", "00482913"],
  ["medical_id", "Krankenversichertennummer", "A123456780"], ["medical_id", "health card number", "9876 543 217"], ["medical_id", "patient id", "PT-492817"],
  ["bank_account", "account number", "12345678"], ["bank_account", "Kontonummer", "0532013000"], ["bank_account", "sort code", "20-00-00"], ["bank_account", "routing number", "021000021"],
  ["bank_account", "CLABE", "032180000118359719"], ["bank_account", "BLZ", "37040044"], ["credit_card", "card number", "4929 7226 5379 7141"], ["credit_card", "Kreditkarte", "371449635398431"],
  ["vehicle_id", "license plate", "7ABC123"], ["vehicle_id", "Kennzeichen", "B-MW 1234"], ["vehicle_id", "numéro d'immatriculation", "AB-123-CD"], ["vehicle_id", "VIN", "1M8GDM9AXKP042788"],
  ["device_id", "IMEI", "490154203237518"], ["date_of_birth", "date of birth", "1984-03-12"], ["date_of_birth", "DOB", "03/12/1984"], ["date_of_birth", "Geburtsdatum", "12.03.1984"],
  ["date_of_birth", "date de naissance", "12 mars 1984"], ["date_of_birth", "fecha de nacimiento", "12 de marzo de 1984"], ["date_of_birth", "出生日期", "1984年3月12日"], ["date_of_birth", "geboren am", "3. April 1984"],
  ["phone", "phone", "0171 2345678"], ["phone", "mobile", "07700 912345"], ["phone", "Telefon", "030/123456"], ["phone", "téléphone", "01 42 68 53 00"], ["phone", "手机", "13912345678"],
];

for (const [detector, label, value] of LABELLED) {
  test(`${detector}: ${label}`, () => {
    expect(found(`${label}: ${value}`)).toContain(detector);
    expect(found(`Her ${label} is ${value}, thanks.`)).toContain(detector);
    expect(found(JSON.stringify({ id: 7, [label.replace(/[ '-]/g, "_").toLowerCase()]: value, ok: true }))).toContain(detector);
    expect(found(`name;${label}\nx;1`)).toEqual([]);
  });
}
