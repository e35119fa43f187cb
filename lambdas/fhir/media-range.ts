/** What a client takes. https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1 */

/** `type`: in lower case; both parts, or the second, may be `*`. `quality`: 0 to 1; 0 is what it does not take. */
export type MediaRange = { readonly type: string; readonly quality: number }

/** Of the range that tells most of the type; 0 where none does. */
export function qualityOf(ranges: readonly MediaRange[], type: string): number {
  for (const wanted of [type, `${type.split('/', 1)[0]}/*`, '*/*']) {
    const known = ranges.filter((range) => range.type === wanted)
    if (known.length > 0) return Math.max(...known.map(({ quality }) => quality))
  }
  return 0
}
