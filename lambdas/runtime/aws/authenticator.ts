/**
 * Authenticator of a deployed function. It verifies the server's own tokens with keys and revocations from the state table. It never reads
 * client rows.
 */
import { gatewayAuthenticator, openAuthenticator, tokenAuthenticator } from '../../http/authenticators.ts'
import type { Authenticator, PublicRead } from '../../http/steps/authenticate.ts'
import { type VerifierPorts, verifierOf } from '../authorization/token-verifier.ts'
import type { Config } from '../config.ts'
import { once } from '../once.ts'
import { fetchPublishedDocument, patientsOf, publicKeys, tokenRevocations } from './authorization.ts'
import { report } from './log.ts'
import { clock, config, deploymentSettings, searchContexts } from './ports.ts'

type Persons = VerifierPorts['patientsOf']

const AUTHENTICATORS: Readonly<Record<Config['access'], (persons: Persons) => Authenticator>> = {
  token: (persons) => withDefinitions(tokenAuthenticator(verify(persons))),
  iam: () => withDefinitions(gatewayAuthenticator),
  open: () => withDefinitions(openAuthenticator),
}

/**
 * Authenticator for the setting `access`. Even if API Gateway checks nothing, only `open` accepts requests without authentication: `iam`
 * rejects requests for which the gateway names no caller.
 */
export const authenticator = /* @__PURE__ */ once((): Authenticator => AUTHENTICATORS[config().access](patientsOf))

/**
 * Authenticator for functions that open no stored resource of a patient. It does not check whom the user acts for, so these functions need
 * no permission to read Patients and RelatedPersons.
 */
export const authenticatorWithoutPersons = /* @__PURE__ */ once((): Authenticator => AUTHENTICATORS[config().access]('unchecked'))

/** Access of requests without a token. The firewall limits their rate. */
export const publicRead = (): PublicRead | undefined =>
  config().publicRead === ''
    ? undefined
    : {
        async tokenOf(request) {
          const { publicAdmission } = await import('../../http/public-read/admission.ts')
          const token = publicAdmission(config())(request)
          if (token !== undefined) await searchContexts().load(token.tenant)
          return token
        },
      }

/**
 * Loads the custom parameters of the tenant, for functions that refresh the search contexts. Adds a refresh for tokens with scope
 * conditions, because these may use custom parameters. Most tokens have none and skip that read.
 */
const withDefinitions =
  (authenticator: Authenticator): Authenticator =>
  async (http) => {
    const token = await authenticator(http)
    if (token?.scopes.some((scope) => scope.includes('?'))) await searchContexts().refresh(clock().now())
    if (token !== undefined) await searchContexts().load(token.tenant)
    return token
  }

/** Maximum milliseconds for which a revoked token is still accepted. A container caches the revocations of a token for this time. */
const REVOCATION_LAG = 3_000

const verify = (persons: Persons) =>
  verifierOf(config(), deploymentSettings().baseUrl, {
    keys: publicKeys(),
    revocations: tokenRevocations(),
    revocationLag: REVOCATION_LAG,
    patientsOf: persons,
    clock: clock(),
    fetchDocument: fetchPublishedDocument,
    report: (error) => report(error, 'keys'),
  }).verify
