/** What a server answered, as far as a load looks at it. */
import type { IncomingHttpHeaders } from 'node:http'

export type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }

export const isSuccess = ({ status }: Answer): boolean => status >= 200 && status < 300

/** Nothing where the body is not JSON. */
export function json({ body }: Answer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

export type Outcome = {
  readonly issue?: readonly { readonly details?: { readonly text?: string }; readonly expression?: readonly string[] }[]
}

/** The status, the texts of the outcome, and where each is about. */
export function reasonOf(status: number | string, outcome: Outcome | undefined): string {
  const texts = outcome?.issue?.map(({ details, expression }) => [details?.text, ...(expression ?? [])].filter(Boolean).join(' at '))
  return `${status} ${texts?.join('; ') ?? ''}`.trim()
}
