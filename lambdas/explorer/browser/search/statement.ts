/** CapabilityStatement of the server, which a page reads when the person needs it. */
import { type Answer, read } from '../http.ts'
import { tenant } from '../session.ts'

/** Milliseconds after which a statement is read again, because custom parameters change while the server runs. */
const MAX_AGE = 60_000

/** Answers by tenant, because each tenant has its own search parameters. */
const statements = new Map<string, { readonly answer: Promise<Answer>; readonly expires: number }>()

/** Reads the statement of the tenant, at most once a minute. Throws Refusal; the next call then reads again. */
export function readStatement(): Promise<Answer> {
  const key = tenant.value
  const cached = statements.get(key)
  if (cached !== undefined && Date.now() < cached.expires) return cached.answer
  const answer = read('/metadata')
  statements.set(key, { answer, expires: Date.now() + MAX_AGE })
  answer.catch(() => statements.delete(key))
  return answer
}
