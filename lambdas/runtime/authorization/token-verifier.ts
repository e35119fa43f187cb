/** Verification of access tokens in both deployments. The server is issuer and audience of its own tokens, both under its base URL. */
import { type Verifier, type VerifierParts, verifier } from '../../access/verification/verifier.ts'
import { publishedKeysOf } from '../../auth/tokens/key-rotation.ts'
import type { Config } from '../config.ts'

export type VerifierPorts = Pick<
  VerifierParts,
  'keys' | 'revocations' | 'revocationLag' | 'patientsOf' | 'clock' | 'fetchDocument' | 'report'
>

export const verifierOf = (config: Config, baseUrl: string, ports: VerifierPorts): Verifier =>
  verifier({
    ...ports,
    issuer: baseUrl,
    audience: baseUrl,
    keys: publishedKeysOf(ports.keys, ports.clock),
    tenancy: config.tenancy,
    tenantClaim: config.tenantClaim,
    externalIssuers: config.externalIssuers,
    patientScopesWithoutContext: config.patientScopesWithoutContext,
  })
