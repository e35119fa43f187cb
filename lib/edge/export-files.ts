/**
 * Where export files are: a bucket nobody reads but CloudFront, for links that are signed with a key of KMS. No private key stands in a
 * template or leaves KMS. https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/PrivateContent.html
 */
import { CustomResource, Duration, RemovalPolicy } from 'aws-cdk-lib'
import {
  AllowedMethods,
  type BehaviorOptions,
  CachePolicy,
  FunctionCode,
  FunctionEventType,
  FunctionRuntime,
  KeyGroup,
  PublicKey,
  Function as ViewerFunction,
  ViewerProtocolPolicy,
} from 'aws-cdk-lib/aws-cloudfront'
import { S3BucketOrigin } from 'aws-cdk-lib/aws-cloudfront-origins'
import { type IKey, Key, KeySpec, KeyUsage } from 'aws-cdk-lib/aws-kms'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket, ObjectOwnership } from 'aws-cdk-lib/aws-s3'
import { Construct } from 'constructs'
import { LINK_LIFETIME_MS } from '../../lambdas/export/job/lifetimes.ts'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { type Settings, serviceEnvironmentOf } from '../settings/settings.ts'
import { exportViewerCodeOf } from './export-viewer.ts'

/** Files of jobs, and nothing else a job keeps there: as lambdas/export/job/job.ts calls them. */
export const EXPORT_FILES_PATTERN = '/exports/*/files/*'

export type LinkKey = { readonly key: IKey; readonly number: number }

/** Days after which it forgets uploads, which the sweep ends sooner: those of a job that a failing store delays are still written. */
const LONGEST_JOB = 7
/** Days for which a link is good that was handed out on the last day of a manifest. */
const LINKS = LINK_LIFETIME_MS / (24 * 60 * 60 * 1000)

/**
 * Days after which the bucket itself forgets what the sweep left: no file is needed so long, though what is written in parts is as old as its
 * upload. https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html
 */
const backstopDays = (settings: Settings): number =>
  readConfig(serviceEnvironmentOf(settings)).exportRetentionDays + LINKS + LONGEST_JOB + 1

export class ExportFiles extends Construct {
  readonly bucket: IBucket
  /** The newest first; the one before counts too, for links of 7 days. */
  readonly linkKeys: readonly LinkKey[]
  readonly #settings: Settings

  /** `key`: encrypts. `logs`: where who asked the bucket is noted. */
  constructor(scope: Construct, id: string, settings: Settings, { key, logs }: { readonly key: IKey; readonly logs: IBucket }) {
    super(scope, id)
    this.#settings = settings
    this.bucket = new Bucket(this, 'Bucket', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      encryption: BucketEncryption.KMS,
      // The policy of the stage's key names CloudFront already (stacks/data-stack.ts).
      encryptionKey: Key.fromKeyArn(this, 'Key', key.keyArn),
      bucketKeyEnabled: true,
      // What is removed is gone.
      versioned: false,
      serverAccessLogsBucket: Bucket.fromBucketName(this, 'Logs', logs.bucketName) as IBucket,
      serverAccessLogsPrefix: EXPORT_LOGS,
      lifecycleRules: [
        { expiration: Duration.days(backstopDays(settings)), abortIncompleteMultipartUploadAfter: Duration.days(LONGEST_JOB) },
      ],
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    }) as IBucket
    const { exportLinkKey: newest } = settings
    this.linkKeys = [newest, newest - 1].filter((number) => number > 0).map((number) => ({ number, key: this.#linkKey(number) }))
  }

  /** `teller`: the function that tells the public half of a key. */
  behaviour(teller: IFunction): { readonly behaviour: BehaviorOptions; readonly keyPairId: string } {
    const publicKeys = this.linkKeys.map((linkKey) => this.#publicKey(linkKey, teller))
    const behaviour: BehaviorOptions = {
      origin: S3BucketOrigin.withOriginAccessControl(this.bucket),
      trustedKeyGroups: [new KeyGroup(this, 'LinkKeys', { items: publicKeys })],
      allowedMethods: AllowedMethods.ALLOW_GET_HEAD,
      // No copy outlives a file that was removed.
      cachePolicy: CachePolicy.CACHING_DISABLED,
      viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
      compress: false,
      functionAssociations: [{ eventType: FunctionEventType.VIEWER_REQUEST, function: this.#viewerRequest() }],
    }
    return { behaviour, keyPairId: publicKeys[0]!.publicKeyId }
  }

  #linkKey(number: number): IKey {
    return new Key(this, `LinkKey${number}`, {
      description: 'FHIR server: signs links to export files',
      keySpec: KeySpec.RSA_2048,
      keyUsage: KeyUsage.SIGN_VERIFY,
      pendingWindow: Duration.days(7),
      removalPolicy: RemovalPolicy.DESTROY,
    })
  }

  #publicKey({ key, number }: LinkKey, teller: IFunction): PublicKey {
    const told = new CustomResource(this, `LinkKeyPem${number}`, {
      resourceType: 'Custom::FhirLinkKey',
      serviceToken: teller.functionArn,
      serviceTimeout: Duration.minutes(2),
      properties: { KeyId: key.keyId },
    })
    return new PublicKey(this, `PublicKey${number}`, {
      encodedKey: told.getAttString('Pem'),
      comment: 'FHIR server: links to export files',
    })
  }

  #viewerRequest(): ViewerFunction {
    const { externalIssuers } = readConfig(serviceEnvironmentOf(this.#settings))
    const others = Object.fromEntries(externalIssuers.map(({ issuer, names }) => [issuer, names.client]))
    const code = FunctionCode.fromInline(exportViewerCodeOf(others))
    return new ViewerFunction(this, 'ViewerRequest', { runtime: FunctionRuntime.JS_2_0, code })
  }
}

export const EXPORT_LOGS = 'export-bucket/'
