/**
 * Folds text for comparison in searches: ignores case and accents, collapses white space, and replaces variants of a letter by that letter.
 * https://hl7.org/fhir/R4/search.html#string, https://www.unicode.org/reports/tr30/tr30-4.html
 */

export function foldText(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase()
  const bare = ASCII.test(text) ? text.toLowerCase() : foldLetters(text)
  return bare.replace(/\s+/g, ' ').trim()
}

/** Matches ASCII words with single spaces between them, where folding only changes the case. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/
const ASCII = /^[\u0000-\u007f]*$/

/**
 * Returns the text in lower case, without diacritics, and with variants of a letter replaced: ø by o, æ by ae. The conversion to upper case
 * turns ß into SS, which lower case alone does not: https://www.unicode.org/reports/tr44/#SpecialCasing.txt
 */
const foldLetters = (text: string): string =>
  withoutDiacritics(withoutDiacritics(text).toLowerCase().toUpperCase())
    .toLowerCase()
    .replace(REPLACED_LETTERS, (letter) => LETTERS.get(letter)!)

/** Removes marks also before the decomposition, which sorts a sequence of marks in time quadratic in its length. */
const withoutDiacritics = (text: string): string => withoutMarks(withoutMarks(text).normalize('NFKD'))

const withoutMarks = (text: string): string => text.replace(/\p{M}+/gu, '')

/**
 * Replacements of letters that Unicode does not decompose, as in its transliteration Latin-ASCII: https://cldr.unicode.org/. Also σ for ς.
 */
const LETTERS: ReadonlyMap<string, string> = new Map(
  [
    ...[
      'a ⱥ',
      'ae æ',
      'b ƀɓƃ',
      'c ƈȼ',
      'd ðđɖɗƌ',
      'e ɛɇ',
      'f ƒ',
      'g ɠǥ',
      'h ħⱨ',
      'hv ƕ',
      'i ɨ',
      'j ɉȷ',
      'k ƙⱪ',
      'l łƚⱡɫ',
      'm ɱ',
      'n ŋɲƞ',
      'o ø',
    ],
    ...['oe œ', 'oi ƣ', 'p ƥᵽ', 'q ĸ', 'r ɍɽ', 's ȿ', 't ŧƭƫⱦʈ', 'th þ', 'u ʉ', 'v ʋⱱ', 'w ⱳ', 'y ƴɏ', 'z ƶȥɀⱬ', 'σ ς'],
  ].flatMap((row) => {
    const [plain = '', letters = ''] = row.split(' ')
    return [...letters].map((letter): [string, string] => [letter, plain])
  }),
)

/** Matches these letters only, because a call for each letter of another script is slow. */
const REPLACED_LETTERS = new RegExp(`[${[...LETTERS.keys()].join('')}]`, 'gu')

/** Maximum characters of a searchable value. Longer values are stored, but no search finds them. */
export const MAX_SEARCHABLE_CHARACTERS = 8_000
