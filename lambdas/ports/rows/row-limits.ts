/** Checks the limits of rows. Throws the RangeErrors that `Rows` promises. */

/** Maximum bytes of the JSON of a row. Longer values throw RangeError. */
export const MAX_ROW_BYTES = 300_000

export function checkRowOwner(owner: string): void {
  if (!/^[A-Za-z0-9/_-]{1,200}$/.test(owner)) throw new RangeError('the owner of rows has 1 to 200 letters, digits, /, _ and -')
}

export function checkRowKey(owner: string, name: string): void {
  checkRowOwner(owner)
  if (!/^[A-Za-z0-9._-]{1,200}$/.test(name)) throw new RangeError('the name of a row has 1 to 200 letters, digits, ., _ and -')
}

/** Returns the JSON text to store for a value. Throws RangeError if it is longer than `MAX_ROW_BYTES` bytes. */
export function textOfRow(value: unknown): string {
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) > MAX_ROW_BYTES) throw new RangeError(`a row has up to ${MAX_ROW_BYTES} bytes`)
  return text
}
