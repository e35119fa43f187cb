/** A seal of a store that was set back so many times: what was sealed before that opens as such. */
import type { Seal } from '../../ports/security/seal.ts'

/** Epoch 0 seals as if there were none. */
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
