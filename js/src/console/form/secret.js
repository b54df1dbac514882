// @ts-check
// Names that ask for a secret, as the rule sensitive-params of e2e/check has them: its words are in e2e/check/words/secrets.txt,
// and a test compares the two.

const secret = new Set([
  'pw pwd psw passwort kennwort mot_de_passe password passwd passwords passcode passphrase secret client_secret',
  'api_key apikey private_key secret_key access_token refresh_token auth_token bearer_token session_token id_token credentials credential',
  'session_cookie one_time_code otp totp mfa_code two_factor_code recovery_code security_code verification_pin credit_card card_number',
  'cardnumber cc_number cvv cvc csc iban account_number routing_number ssn social_security tax_id passport_number drivers_license',
  'bank_account token',
].flatMap((line) => line.split(' ')));
const alone = new Set(['pass', 'pin']);
const harmless = new Set([
  'page_token next_token cursor_token continuation_token sync_token max_token token_count csrf_token token_symbol',
  'token_limit password_hint password_length password_policy secret_santa',
].flatMap((line) => line.split(' ')));

/** A name's words, split at separators, digits and changes of case. @param {string} name */
const wordsOf = (name) => name.slice(0, 256).split(/\P{L}+|(?<=\p{Ll})(?=\p{Lu})|(?<=.)(?=\p{Lu}\p{Ll})/u).filter((w) => w !== '').map((w) => w.toLowerCase());

/** Whether a group has some consecutive words of a name. @param {Set<string>} group @param {string[]} words */
const has = (group, words) => words.some((_, from) => [1, 2, 3].some((n) => {
  const name = words.slice(from, from + n).join('_');
  return group.has(name) || group.has(name.replace(/s$/, ''));
}));

/** @param {string} name */
export function isSecretName(name) {
  const words = wordsOf(name);
  return (has(secret, words) || alone.has(words.join('_'))) && !has(harmless, words);
}
