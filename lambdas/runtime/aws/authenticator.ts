/** Who is let in at a deployed function. What proves a token is in the table of state: no client's row is read, and nobody is asked. */
import { gatewayAuthenticator, openAuthenticator, tokenAuthenticator } from '../../http/authenticators.ts'
import type { Authenticator } from '../../http/steps/authenticate.ts'
import { type VerifierPorts, verifierOf } from '../authorization/token-verifier.ts'
import type { Config } from '../config.ts'
import { once } from '../once.ts'
import { fetchPublishedDocument, patientsOf, publicKeys, revocations } from './authorization.ts'
import { report } from './log.ts'
import { clock, config, deploymentSettings, searchContexts } from './ports.ts'

type Persons = VerifierPorts['patientsOf']

const AUTHENTICATORS: Readonly<Record<Config['access'], (persons: Persons) => Authenticator>> = {
  token: (persons) => withConditions(tokenAuthenticator(verify(persons))),
  iam: () => gatewayAuthenticator,
  open: () => openAuthenticator,
}

/** Of the setting `access`. Whatever the gateway lets through: only what says openly that it is open is. */
export const authenticator = /* @__PURE__ */ once((): Authenticator => AUTHENTICATORS[config().access](patientsOf))

/** For functions that open no stored resource of a patient. They need no permission to read Patients and RelatedPersons. */
export const authenticatorWithoutPersons = /* @__PURE__ */ once((): Authenticator => AUTHENTICATORS[config().access]('unchecked'))

/** Conditions of scopes may name what the tenant has defined: it is looked up for who has some, for most have none. */
const withConditions =
  (authenticator: Authenticator): Authenticator =>
  async (http) => {
    const token = await authenticator(http)
    if (token?.scopes.some((scope) => scope.includes('?'))) await searchContexts().refresh(clock().now())
    return token
  }

/** Milliseconds. Each container reads the revocations of a token at most that often. */
const REVOCATION_LAG = 3_000

const verify = (persons: Persons) =>
  verifierOf(config(), deploymentSettings().baseUrl, {
    keys: publicKeys(),
    revocations: revocations(),
    revocationLag: REVOCATION_LAG,
    patientsOf: persons,
    clock: clock(),
    fetchDocument: fetchPublishedDocument,
    report: (error) => report(error, 'keys'),
  }).verify
