/** Options of run.ts. */
import { parseArgs } from 'node:util'
import type { Part } from './choice.ts'

/** `most`: number of generated mutants. `minutes`: undefined for no limit. */
export type Options = { readonly isStrict: boolean; readonly most: number; readonly minutes: number | undefined } & (
  | { readonly mode: 'diff'; readonly base: string | undefined }
  | { readonly mode: 'kept'; readonly part: Part | undefined; readonly words: readonly string[] }
  | { readonly mode: 'sample'; readonly part: Part }
)

/** Throws an error with a message for the user if the arguments contradict each other or have no meaning. */
export function optionsOf(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      diff: { type: 'boolean' },
      kept: { type: 'boolean' },
      sample: { type: 'string' },
      part: { type: 'string' },
      most: { type: 'string' },
      minutes: { type: 'string' },
      strict: { type: 'boolean' },
    },
  })
  const { diff = false, kept = false, sample, part, strict: isStrict = false } = values
  if (Number(diff) + Number(kept) + Number(sample !== undefined) > 1) throw new Error('--diff, --kept and --sample exclude each other')
  if (part !== undefined && !kept) throw new Error('--part needs --kept')
  const most = numberIn('most', values.most) ?? 60
  const minutes = numberIn('minutes', values.minutes)
  if (kept) return { mode: 'kept', isStrict, most, minutes, part: part === undefined ? undefined : partIn(part), words: positionals }
  const [base, unknown = sample === undefined ? undefined : base] = positionals
  if (unknown !== undefined) throw new Error(`${unknown}: no such argument`)
  const limits = { isStrict, most, minutes: minutes ?? 5 }
  return sample === undefined ? { mode: 'diff', base, ...limits } : { mode: 'sample', part: partIn(sample), ...limits }
}

function numberIn(name: string, text: string | undefined): number | undefined {
  if (text !== undefined && !/^\d+$/.test(text)) throw new Error(`--${name} ${text}: a number expected`)
  return text === undefined ? undefined : Number(text)
}

function partIn(text: string): Part {
  const [, part, of] = /^(\d+)\/(\d+)$/.exec(text) ?? []
  if (part === undefined || Number(part) < 1 || Number(part) > Number(of)) throw new Error(`${text}: K/N expected, with K from 1 to N`)
  return { part: Number(part), of: Number(of) }
}
