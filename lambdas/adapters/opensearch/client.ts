/** Client of an OpenSearch cluster. https://docs.opensearch.org/latest/clients/javascript/index/ */
import { Client } from '@opensearch-project/opensearch'
import { AwsSigv4Signer } from '@opensearch-project/opensearch/aws-v3'

export type Credentials = { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string }

/** Creates the client. `signing`: credentials that sign the requests to an AWS domain. */
export const openSearchClient = (node: string, signing?: { readonly region: string; readonly credentials: () => Credentials }): Client =>
  new Client({
    node,
    ...(signing === undefined
      ? {}
      : AwsSigv4Signer({ region: signing.region, service: 'es', getCredentials: async () => ({ ...signing.credentials() }) })),
  })
