/** Responses of a server, as far as the commands read them. */
import type { IncomingHttpHeaders } from 'node:http'
import { isElement } from '../../lambdas/fhir/resource.ts'

export type BufferedResponse = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }

export const isSuccess = ({ status }: BufferedResponse): boolean => status >= 200 && status < 300

/** Returns the parsed body, or undefined if it is not JSON. */
export function parseJsonBody({ body }: BufferedResponse): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

export type OperationOutcome = {
  readonly issue?: readonly { readonly details?: { readonly text?: string }; readonly expression?: readonly string[] }[]
}

/** Returns the status with the texts of the issues. Each text names the elements it concerns. */
export function reasonOf(status: number | string, outcome: OperationOutcome | undefined): string {
  const texts = outcome?.issue?.map(({ details, expression }) => [details?.text, ...(expression ?? [])].filter(Boolean).join(' at '))
  return `${status} ${texts?.join('; ') ?? ''}`.trim()
}

type Issue = {
  readonly severity?: string
  readonly code?: string
  readonly diagnostics?: string
  readonly details?: { readonly text?: string }
}

/** Returns the issues, or undefined if the text is not an OperationOutcome. */
export function parseOutcomeIssues(text: string): readonly Issue[] | undefined {
  try {
    const found = JSON.parse(text) as { readonly resourceType?: string; readonly issue?: unknown } | null
    if (found?.resourceType !== 'OperationOutcome') return undefined
    return Array.isArray(found.issue) ? found.issue.filter(isElement) : []
  } catch {
    return undefined
  }
}
