/** Value that several processes change. `Known`: the value as it was read, with what `write` compares. */
export type SharedValue<Value, Known extends { readonly value: Value | undefined }> = {
  readonly read: () => Promise<Known>
  /** Writes the value, or removes it if it is undefined. Returns false if another write came after `known` was read. */
  readonly write: (value: Value | undefined, known: Known) => Promise<boolean>
  /** Waits before the next attempt. Throws Error after the last one. */
  readonly pause: (attempt: number) => Promise<void>
}

/** Changes a value by compare-and-set, and returns it. Nothing is written if `next` throws or returns the very value it got. */
export async function changeValue<Value, Known extends { readonly value: Value | undefined }>(
  { read, write, pause }: SharedValue<Value, Known>,
  next: (value: Value | undefined) => Value | undefined,
): Promise<Value | undefined> {
  for (let attempt = 1; ; attempt++) {
    const known = await read()
    const value = next(known.value)
    if (value === known.value || (await write(value, known))) return value
    await pause(attempt)
  }
}
