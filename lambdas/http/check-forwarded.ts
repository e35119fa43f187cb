/**
 * Rejects requests that a proxy forwards to a server in open mode: a proxy may replace Host, so that the check of Host proves nothing.
 * Separate from steps/check-host.ts, because AWS has no open mode.
 */
import { fhirError } from '../fhir/outcome.ts'
import type { HttpRequest } from './exchange.ts'

const FORWARDED = /^(?:forwarded|x-forwarded-.*)$/i

export function checkForwarded(headers: HttpRequest['headers']): void {
  const forwarded = Object.keys(headers).find((name) => FORWARDED.test(name))
  // guard: open-mode-without-proxy
  if (forwarded !== undefined)
    throw fhirError(
      403,
      'security',
      `In open mode the server answers only requests that no proxy forwards, and this one has the header ${forwarded}: start the server without --open`,
    )
}
