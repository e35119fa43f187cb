/** Sends entries to a server: transactions first, so that it is fast; a refused one again as a batch, so that only what is wrong fails. */
import { setTimeout as wait } from 'node:timers/promises'
import type { LoadEntry } from './entries.ts'

export type Failure = { readonly place: string; readonly key: string; readonly reason: string }

export type Sender = (entries: readonly LoadEntry[]) => Promise<readonly Failure[]>

/** How often a busy server is asked again, and one that cannot be reached. */
const PATIENCE = { busy: 8, unreachable: 5 }

/** `base`: without a slash at the end. The sender rejects when the server cannot be reached. */
export const senderTo = (base: string): Sender => {
  const post = async (type: 'transaction' | 'batch', entries: readonly LoadEntry[]): Promise<Response> => {
    const body = `{"resourceType":"Bundle","type":"${type}","entry":[${entries.map(({ text }) => text).join(',')}]}`
    for (let attempt = 0; ; attempt++) {
      const response = await fetchOnce(base, body)
      if (response !== undefined && response.status !== 429 && response.status !== 503) return response
      if (attempt === PATIENCE[response === undefined ? 'unreachable' : 'busy'])
        throw new Error(response === undefined ? `${base} cannot be reached` : `${base} stays busy (${response.status})`)
      await response?.arrayBuffer()
      await wait(Math.max(Number(response?.headers.get('retry-after') ?? 0) * 1000, 50 * 2 ** attempt))
    }
  }
  return async (entries) => {
    const response = await post('transaction', entries)
    if (response.ok) {
      await response.arrayBuffer()
      return []
    }
    const refusal = await reasonOf(response)
    if (entries.length === 1) return [{ ...entries[0]!, reason: refusal }]
    const second = await post('batch', entries)
    return second.ok ? failuresIn(await second.json(), entries) : entries.map((entry) => ({ ...entry, reason: refusal }))
  }
}

async function fetchOnce(base: string, body: string): Promise<Response | undefined> {
  try {
    return await fetch(base, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/fhir+json', 'accept-encoding': 'identity', prefer: 'return=minimal' },
    })
  } catch {
    return undefined
  }
}

type Outcome = { readonly issue?: readonly { readonly details?: { readonly text?: string }; readonly expression?: readonly string[] }[] }

const textOf = (outcome: Outcome | undefined): string =>
  outcome?.issue?.map(({ details, expression }) => [details?.text, ...(expression ?? [])].filter(Boolean).join(' at ')).join('; ') ?? ''

async function reasonOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => undefined)) as Outcome | undefined
  return `${response.status} ${textOf(body)}`.trim()
}

type Answered = { readonly entry?: readonly { readonly response?: { readonly status?: string; readonly outcome?: Outcome } }[] }

function failuresIn(bundle: unknown, entries: readonly LoadEntry[]): readonly Failure[] {
  const answers = (bundle as Answered).entry ?? []
  return entries.flatMap(({ place, key }, i) => {
    const { status = 'no answer', outcome } = answers[i]?.response ?? {}
    return status.startsWith('2')
      ? []
      : [{ place, key, reason: `${status} ${textOf(outcome)}`.trim().replaceAll(/Bundle\.entry\[\d+]\.resource/g, key.split('/')[0]!) }]
  })
}
