/** Media ranges that a client accepts. https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1 */

/** Media range. `type`: in lower case; both parts, or the second, may be `*`. `quality`: 0 to 1; 0 means not acceptable. */
export type MediaRange = { readonly type: string; readonly quality: number }

/** Returns the quality of the most specific range that matches the type, or 0 if none matches. */
export function qualityOf(ranges: readonly MediaRange[], type: string): number {
  for (const pattern of [type, `${type.split('/', 1)[0]}/*`, '*/*']) {
    const matching = ranges.filter((range) => range.type === pattern)
    if (matching.length > 0) return Math.max(...matching.map(({ quality }) => quality))
  }
  return 0
}
