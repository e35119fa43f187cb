/** Returns the public key that verifies links to export files, for CloudFront. A deployment runs it once for each such key of a stage. */
import { customResource } from '../../runtime/aws/custom-resource.ts'
import { readLinkKeyPem } from '../../runtime/aws/file-links.ts'

export const handler = customResource(async ({ KeyId = '' }) => ({ Pem: await readLinkKeyPem(KeyId) }))
