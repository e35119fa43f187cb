/** Creates clients of OpenSearch clusters. https://docs.opensearch.org/latest/clients/javascript/index/ */
import { Client } from '@opensearch-project/opensearch'
import { AwsSigv4Signer } from '@opensearch-project/opensearch/aws-v3'

export type Credentials = { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string }

/** Creates the client of a cluster. `node`: URL. `signing`: region and credentials with which requests to an AWS domain are signed. */
export const openSearchClient = (node: string, signing?: { readonly region: string; readonly credentials: () => Credentials }): Client =>
  new Client({
    node,
    ...(signing === undefined
      ? {}
      : AwsSigv4Signer({ region: signing.region, service: 'es', getCredentials: async () => ({ ...signing.credentials() }) })),
  })
