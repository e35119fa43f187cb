/** Rejects requests from other machines if the server accepts only those of its own machine. */
import { fhirError } from '../../fhir/outcome.ts'
import type { HttpRequest, Step } from '../exchange.ts'

export type CheckForwarded = (headers: HttpRequest['headers']) => void

/** `loopbackOnly`: Host and Origin must name this machine. Otherwise a page of another site could send requests (DNS rebinding). */
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

/** Matches a loopback host, with or without a port. */
export const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i
const isLoopback = (host: string | undefined): boolean => host === undefined || LOOPBACK_HOST.test(host)
