/** Packages of definitions of a deployment, stored in its bucket. Commands access them with the operator's AWS credentials. */
import { openS3Packages } from '../../adapters/s3/open-blob-store.ts'
import type { PackageAdministration } from '../control/package-commands.ts'
import { type Deployment, openDeploymentAdministration } from './administration.ts'

/** Opens the packages of a deployment. `bucket`: name of its S3 bucket. */
export function openDeployedPackages({ bucket, ...deployment }: Deployment & { readonly bucket: string }): PackageAdministration {
  const { audit, clock, close } = openDeploymentAdministration(deployment)
  const store = openS3Packages({ bucket, region: deployment.region, now: () => clock.now() })
  return { store, recording: { audit, clock }, close }
}
