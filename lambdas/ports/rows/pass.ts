/** Passes over many entries in the order of their keys. A function checks a part of them with each call, and stores how far it came. */
import type { Rows } from './rows.ts'

/** Owner of the rows of all passes. The key of each row is the name of its pass. */
export const PASS_ROWS = 'sweeps'

/** `began`: start of the last pass, in milliseconds since 1970. `after`: key after which it continues. Absent: the pass is complete. */
export type Pass = { readonly began: number; readonly after?: string }

/**
 * Entries that were checked. `last`: key of the last one; absent: there are no more. `failures`: errors of entries that could not be
 * checked.
 */
export type CheckedPage = { readonly last?: string; readonly failures: readonly unknown[] }

export type PassParts = {
  readonly rows: Pick<Rows, 'read' | 'change'>
  readonly name: string
  /** Checks some entries whose keys are greater than `after`. May be repeated for the same entries. */
  readonly checkPage: (after: string) => Promise<CheckedPage>
  /** Minimum milliseconds from the start of a pass to the start of the next one. */
  readonly interval: number
  /** How long the call starts further pages, in milliseconds. */
  readonly budget: number
  readonly now: () => number
}

/** Attempts of a page. After them the pass continues behind it, so that one unreadable entry does not stop all later passes. */
const ATTEMPTS = 3

/**
 * Continues the pass, or begins the next one if it is due. A call that dies loses the page that it was checking. Throws AggregateError after
 * a page whose failures remain. The next call continues behind it, and the next pass checks it again.
 */
export async function continuePass({ rows, name, checkPage, interval, budget, now }: PassParts): Promise<void> {
  const start = now()
  const { began = Number.NEGATIVE_INFINITY, after } = (await rows.read<Pass>(PASS_ROWS, name)) ?? {}
  if (after === undefined && start - began < interval) return
  let pass: Pass = after === undefined ? { began: start, after: '' } : { began, after }
  for (let attempt = 1; pass.after !== undefined && now() - start < budget; attempt++) {
    const { last, failures } = await checkPage(pass.after)
    if (failures.length > 0 && attempt < ATTEMPTS) continue
    pass = { began: pass.began, ...(last === undefined ? {} : { after: last }) }
    await rows.change<Pass>(PASS_ROWS, name, () => pass)
    if (failures.length > 0) throw new AggregateError(failures, `some entries of the pass ${name} could not be checked`)
    attempt = 0
  }
}
