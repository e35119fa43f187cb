/** A range of bytes in which some places have another text: it is copied once, to where it is needed. */
export type Patched = {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  /** In the order of their places. */
  readonly patches: readonly Patch[]
}

/** `text` stands for what is between two places; without one it stays. */
export type Patch = { readonly start: number; readonly end: number; readonly text: Text | undefined }

export type Text = { readonly text: string; readonly size: number }

export const textOf = (text: string): Text => ({ text, size: Buffer.byteLength(text) })

export function sizeOf({ start, end, patches }: Patched): number {
  let size = end - start
  for (const patch of patches) if (patch.text !== undefined) size += patch.text.size - (patch.end - patch.start)
  return size
}

/** Returns where it ends. */
export function write({ bytes, start, end, patches }: Patched, out: Buffer, at: number): number {
  let from = start
  let to = at
  for (const patch of patches) {
    if (patch.text === undefined) continue
    to += bytes.copy(out, to, from, patch.start)
    to += out.write(patch.text.text, to)
    from = patch.end
  }
  return to + bytes.copy(out, to, from, end)
}

export function bytesOf(patched: Patched): Buffer {
  const out = Buffer.allocUnsafe(sizeOf(patched))
  write(patched, out, 0)
  return out
}
