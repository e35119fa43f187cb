/** Seal that binds texts to the restore generation of a store. A text sealed in another generation opens with `isFormer`. */
import type { QueryDigest } from '../../ports/security/query-digest.ts'
import type { Seal } from '../../ports/security/seal.ts'

/**
 * Returns a seal that stores the generation in each sealed text. A text without a generation has generation 0, before any
 * restore. Digests are
 * equal in all generations.
 */
export const sealOfEpoch = (seal: Seal & QueryDigest, epoch: number): Seal & QueryDigest => ({
  digest: (query) => seal.digest(query),
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
