/** Seal of a store with a restore generation. A text that was sealed in another generation opens with `isFormer`. */
import type { Seal } from '../../ports/security/seal.ts'

/** Returns a seal that adds the generation to the text. Generation 0 adds nothing. */
export const sealOfEpoch = (seal: Seal, epoch: number): Seal => ({
  seal: (text, at) => seal.seal(epoch === 0 && !text.startsWith(MARK) ? text : `${MARK}${epoch}${MARK}${text}`, at),
  open(sealed) {
    const opened = seal.open(sealed)
    if (opened === undefined) return undefined
    const { at } = opened
    const [, of = '0', text = opened.text] = opened.text.startsWith(MARK) ? (MARKED.exec(opened.text) ?? []) : []
    return { text, at, ...(Number(of) === epoch ? {} : { isFormer: true }) }
  },
})

const MARK = '\n'
const MARKED = /^\n(\d+)\n(.*)$/s
