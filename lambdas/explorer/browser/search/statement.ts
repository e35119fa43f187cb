/** CapabilityStatement of the server, which a page reads when the person needs it. */
import { type Answer, read } from '../http.ts'
import { tenant } from '../session.ts'

/** Answers by tenant, because each tenant has its own search parameters. */
const statements = new Map<string, Promise<Answer>>()

/** Reads the statement of the tenant, once while the page is loaded. Throws Refusal; the next call then reads again. */
export function readStatement(): Promise<Answer> {
  const key = tenant.value
  const known = statements.get(key)
  if (known !== undefined) return known
  const answer = read('/metadata')
  statements.set(key, answer)
  answer.catch(() => statements.delete(key))
  return answer
}
