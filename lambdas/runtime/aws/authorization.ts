/** Ports of authorization on AWS, stored in DynamoDB. The signing keys are in signing-keys.ts. */
import type { PersonReader } from '../../access/user-patients.ts'
import { jwksCache } from '../../access/verification/jwks-cache.ts'
import { DynamoDbGrants } from '../../adapters/dynamodb/rows/grants.ts'
import { DynamoDbClients, DynamoDbUsers } from '../../adapters/dynamodb/rows/registered.ts'
import { DynamoDbRevocations, revocationReader } from '../../adapters/dynamodb/rows/revocations.ts'
import { DynamoDbSharedState } from '../../adapters/dynamodb/rows/shared-state.ts'
import { VersionReader } from '../../adapters/dynamodb/store/reader.ts'
import { KEY_LIST, type KmsKeyList, publishedKeys } from '../../adapters/kms/published-keys.ts'
import { withExplorerClient } from '../../auth/clients/explorer-client.ts'
import type { FetchDocument } from '../../ports/security/fetch-document.ts'
import { once } from '../once.ts'
import { report } from './log.ts'
import { baseSearchContext, blobs, clock, config, deploymentSettings, resourceTable, stateTable } from './ports.ts'

const now = (): number => clock().now()

export const clients = /* @__PURE__ */ once(() => new DynamoDbClients(stateTable()))
export const users = /* @__PURE__ */ once(() => new DynamoDbUsers(stateTable()))
export const grants = /* @__PURE__ */ once(() => new DynamoDbGrants(stateTable(), now))
export const revocations = /* @__PURE__ */ once(() => new DynamoDbRevocations(stateTable(), now))
/** Read-only, for functions that verify tokens. */
export const tokenRevocations = /* @__PURE__ */ once(() => revocationReader(stateTable(), now))

export const keyList: () => KmsKeyList = /* @__PURE__ */ once(() => new DynamoDbSharedState(stateTable(), KEY_LIST, []))

export const publicKeys = /* @__PURE__ */ once(() => publishedKeys(keyList()))

/** Fetches keys of external issuers and clients. Loads its code at the first call, because most functions never need it. */
export const fetchPublishedDocument: FetchDocument = async (url) => {
  const [{ fetchDocument }, { addressFilterOf: mayReachOf }] = await Promise.all([
    import('../../adapters/https/fetch-document.ts'),
    import('../../adapters/https/private-hosts.ts'),
  ])
  return fetchDocument({ mayReach: mayReachOf(config().privateHosts) })(url)
}

/** Whether the server may fetch keys from the host of the URI. Loads its code at the first call, because registrations are rare. */
export const mayFetchKeys = async (uri: string): Promise<boolean> => {
  const { mayFetch } = await import('../../adapters/https/private-hosts.ts')
  return mayFetch(uri, config().privateHosts)
}

/**
 * Returns the patients for which a user acts, from stored Patients and RelatedPersons. Loads its code at the first call, because most
 * functions never need it.
 */
export const patientsOf: PersonReader = async (fhirUser, tenant) => (await personsOf())(fhirUser, tenant)

const personsOf = /* @__PURE__ */ once(async () => {
  const { personReader } = await import('../authorization/person-patients.ts')
  return personReader({ resources: new VersionReader(resourceTable(), blobs(), clock()), clock: clock(), reading: baseSearchContext })
})

/** Returns the ports of endpoints that authenticate clients, such as the token endpoint. */
export const clientAuthenticationPorts = () => ({
  clients: withExplorerClient(clients(), tokenRevocations(), deploymentSettings().baseUrl),
  grants: grants(),
  clock: clock(),
  choices: config(),
  keySource: jwksCache({ fetchDocument: fetchPublishedDocument, clock: clock(), report: (error) => report(error, 'keys') }),
})
