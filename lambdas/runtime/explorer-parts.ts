/** Facts about a deployment that its explorer needs. */
import type { ShellParts } from '../explorer/shell.ts'
import { SERVER_VERSION } from '../interactions/capabilities/server-version.ts'
import type { Config } from './config.ts'

/** `baseUrl`: base URL of the server, without a trailing slash. */
export const explorerPartsOf = (
  { access, tenancy, tenantClaim }: Config,
  baseUrl: string,
  deployment: ShellParts['deployment'],
): ShellParts => ({
  baseUrl,
  version: SERVER_VERSION,
  deployment,
  isOpen: access === 'open',
  ...(tenancy ? { tenantClaim } : {}),
})
