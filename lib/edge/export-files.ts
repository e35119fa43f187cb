/**
 * Bucket for export files. Clients download them only through CloudFront, with links signed by a key of KMS. The private key is in no
 * template and never leaves KMS. https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/PrivateContent.html
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

/** Path pattern of export files, as lambdas/export/job/job.ts names them. It matches no other object that a job stores in the bucket. */
export const EXPORT_FILES_PATTERN = '/exports/*/files/*'

export type LinkKey = { readonly key: IKey; readonly number: number }

/** Days after which the bucket aborts an upload that the sweep missed. A store that fails often may delay a job this long. */
const LONGEST_JOB = 7
/** Lifetime of a link in days. A client may receive a link on the last day of a manifest, so files are needed that much longer. */
const LINKS = LINK_LIFETIME_MS / (24 * 60 * 60 * 1000)

/**
 * Returns the days after which the bucket removes files that the sweep missed, when no client needs them any more. The age of a multipart
 * upload counts from its start, so the longest job is added. https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html
 */
const backstopDays = (settings: Settings): number =>
  readConfig(serviceEnvironmentOf(settings)).exportRetentionDays + LINKS + LONGEST_JOB + 1

export class ExportFiles extends Construct {
  readonly bucket: IBucket
  /**
   * Keys whose signatures CloudFront accepts, newest first. The newest one signs. The previous one stays valid, because its links last 7
   * days.
   */
  readonly linkKeys: readonly LinkKey[]
  readonly #settings: Settings

  /** `key`: encrypts the files. `logs`: bucket for the access logs. */
  constructor(scope: Construct, id: string, settings: Settings, { key, logs }: { readonly key: IKey; readonly logs: IBucket }) {
    super(scope, id)
    this.#settings = settings
    this.bucket = new Bucket(this, 'Bucket', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      encryption: BucketEncryption.KMS,
      // Importing the key keeps its policy unchanged. The policy already permits CloudFront (stacks/data-stack.ts).
      encryptionKey: Key.fromKeyArn(this, 'Key', key.keyArn),
      bucketKeyEnabled: true,
      // A removed file must not survive as an old version.
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

  /** Returns the CloudFront behavior for export files. `keyFunction`: function that returns the public half of a key. */
  behaviour(keyFunction: IFunction): { readonly behaviour: BehaviorOptions; readonly keyPairId: string } {
    const publicKeys = this.linkKeys.map((linkKey) => this.#publicKey(linkKey, keyFunction))
    const behaviour: BehaviorOptions = {
      origin: S3BucketOrigin.withOriginAccessControl(this.bucket),
      trustedKeyGroups: [new KeyGroup(this, 'LinkKeys', { items: publicKeys })],
      allowedMethods: AllowedMethods.ALLOW_GET_HEAD,
      // A cached copy would outlive a removed file.
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

  #publicKey({ key, number }: LinkKey, keyFunction: IFunction): PublicKey {
    const pem = new CustomResource(this, `LinkKeyPem${number}`, {
      resourceType: 'Custom::FhirLinkKey',
      serviceToken: keyFunction.functionArn,
      serviceTimeout: Duration.minutes(2),
      properties: { KeyId: key.keyId },
    })
    return new PublicKey(this, `PublicKey${number}`, {
      encodedKey: pem.getAttString('Pem'),
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
