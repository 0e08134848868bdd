/** The mail addresses with which people sign in. */

/** A mail address is only a name to sign in with. No mail is sent to it. */
const EMAIL = /^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}]{1,189}$/u;

/** Returns the stored form of an address, so that a different case does not create a second account. */
export const normaliseEmail = (email: string): string => email.trim().normalize("NFC").toLowerCase();

export const isEmail = (text: string): boolean => text.isWellFormed() && EMAIL.test(normaliseEmail(text));
