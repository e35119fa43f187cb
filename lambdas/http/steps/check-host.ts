/** Rejects requests whose Host or Origin names another machine, if the server serves only its own machine. */
import { fhirError } from '../../fhir/outcome.ts'
import type { HttpRequest, Step } from '../exchange.ts'

export type CheckForwarded = (headers: HttpRequest['headers']) => void

/**
 * `loopbackOnly`: requires loopback addresses in Host and Origin, if sent. Otherwise a page of another site could send requests by DNS
 * rebinding.
 */
export const checkHost = (loopbackOnly: boolean, checkForwarded?: CheckForwarded): Step => ({
  before({
    event: {
      http: { headers },
    },
  }) {
    // guard: host-is-loopback
    if (loopbackOnly && !(isLoopback(headers.host) && isLoopback(headers.origin?.replace(/^https?:\/\//, ''))))
      throw fhirError(
        403,
        'security',
        'This server answers only to local names: Host and Origin must be loopback addresses, as its base URL is',
      )
    checkForwarded?.(headers)
  },
})

/** Matches a host that is a loopback address, with or without a port. */
export const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i
const isLoopback = (host: string | undefined): boolean => host === undefined || LOOPBACK_HOST.test(host)
