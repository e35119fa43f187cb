/** Checks that throw the RangeErrors which `Rows` promises. */

/** Maximum bytes of a row. */
const LONGEST = 300_000

export function checkRowOwner(shelf: string): void {
  if (!/^[A-Za-z0-9/_-]{1,200}$/.test(shelf)) throw new RangeError('a shelf has 1 to 200 letters, digits, /, _ and -')
}

export function checkRowKey(shelf: string, name: string): void {
  checkRowOwner(shelf)
  if (!/^[A-Za-z0-9._-]{1,200}$/.test(name)) throw new RangeError('the name of a row has 1 to 200 letters, digits, ., _ and -')
}

/** Returns the text that is stored. Throws RangeError if it exceeds the limit. */
export function textOfRow(value: unknown): string {
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) > LONGEST) throw new RangeError(`a row has up to ${LONGEST} bytes`)
  return text
}
