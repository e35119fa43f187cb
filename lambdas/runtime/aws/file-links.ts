/** Links to export files on AWS, signed by KMS for CloudFront. */
import { CloudFrontExportUrls } from '../../adapters/cloudfront/export-urls.ts'
import { readPublicKeyPem } from '../../adapters/kms/public-key.ts'
import { fileKeyOf } from '../../export/job/job.ts'
import type { ExportUrlSigner } from '../../ports/blobs/file-links.ts'
import { once } from '../once.ts'
import { deploymentSettings } from './ports.ts'

export const exportUrls: () => ExportUrlSigner = /* @__PURE__ */ once(() => {
  const { exportOrigin: origin, linkKey: keyId, linkKeyPair: keyPairId } = deploymentSettings()
  return new CloudFrontExportUrls({ origin, keyId, keyPairId, pathOf: ({ job, file }) => `/${fileKeyOf(job, file)}` })
})

/** Returns the public key in PEM format, with which CloudFront verifies the links. */
export const readLinkKeyPem = (keyId: string): Promise<string> => readPublicKeyPem(keyId)
