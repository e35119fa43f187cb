/** Tells CloudFront the public half of a key that links to export files are signed with: once, when a stage gets such a key. */
import { customResource } from '../../runtime/aws/custom-resource.ts'
import { readLinkKeyPem } from '../../runtime/aws/file-links.ts'

export const handler = customResource(async ({ KeyId = '' }) => ({ Pem: await readLinkKeyPem(KeyId) }))
