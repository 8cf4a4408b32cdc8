// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

// Environment of the storage initializer (and of the agent's puller).
const (
	EnvConfidentialEnabled    = "CONFIDENTIAL_ENABLED"
	EnvConfidentialResourceID = "CONFIDENTIAL_RESOURCE_ID"
	EnvCDHAddress             = "CDH_ADDR"
	EnvCABundleConfigMap      = "CA_BUNDLE_CONFIGMAP_NAME"
	EnvCABundleMountPoint     = "CA_BUNDLE_VOLUME_MOUNT_POINT"
	// EnvStorageConfig and EnvStorageOverrideConfig describe a store in JSON; the second wins field by field.
	EnvStorageConfig         = "STORAGE_CONFIG"
	EnvStorageOverrideConfig = "STORAGE_OVERRIDE_CONFIG"
	EnvStorageAllowPatterns  = "STORAGE_ALLOW_PATTERNS"
	EnvStorageIgnorePatterns = "STORAGE_IGNORE_PATTERNS"

	EnvHFHubEnableTransfer     = "HF_HUB_ENABLE_HF_TRANSFER"
	EnvHFXetHighPerformance    = "HF_XET_HIGH_PERFORMANCE"
	EnvHFXetConcurrentRangeGet = "HF_XET_NUM_CONCURRENT_RANGE_GETS"
	EnvHFToken                 = "HF_TOKEN"
	EnvHFEndpoint              = "HF_ENDPOINT"
	EnvModelScopeToken         = "MODELSCOPE_API_TOKEN"

	EnvOCIDockerConfig     = "KSERVE_OCI_DOCKER_CONFIG"
	EnvOCIInsecureRegistry = "KSERVE_OCI_INSECURE_REGISTRY"

	EnvAWSAccessKeyID     = "AWS_ACCESS_KEY_ID"
	EnvAWSSecretAccessKey = "AWS_SECRET_ACCESS_KEY"
	EnvAWSSessionToken    = "AWS_SESSION_TOKEN"
	EnvAWSEndpointURL     = "AWS_ENDPOINT_URL"
	EnvAWSDefaultRegion   = "AWS_DEFAULT_REGION"
	EnvAWSRegion          = "AWS_REGION"
	EnvAWSCABundle        = "AWS_CA_BUNDLE"
	EnvAWSCABundleConfig  = "AWS_CA_BUNDLE_CONFIGMAP"
	EnvAWSAnonymous       = "awsAnonymousCredential"
	EnvS3Endpoint         = "S3_ENDPOINT"
	EnvS3UseHTTPS         = "S3_USE_HTTPS"
	EnvS3VerifySSL        = "S3_VERIFY_SSL"
	// EnvS3VirtualBucket is spelt as pods have always had it.
	EnvS3VirtualBucket      = "S3_USER_VIRTUAL_BUCKET"
	EnvS3UseAccelerate      = "S3_USE_ACCELERATE"
	EnvS3ConnectTimeout     = "S3_CONNECT_TIMEOUT"
	EnvS3ReadTimeout        = "S3_READ_TIMEOUT"
	EnvS3MaxAttempts        = "S3_MAX_ATTEMPTS"
	EnvS3MaxFileConcurrency = "S3_MAX_FILE_CONCURRENCY"

	EnvGCSCredentials      = "GOOGLE_APPLICATION_CREDENTIALS"
	EnvAzureTenantID       = "AZURE_TENANT_ID"
	EnvAzureClientID       = "AZURE_CLIENT_ID"
	EnvAzureClientSecret   = "AZURE_CLIENT_SECRET"
	EnvAzureSubscriptionID = "AZURE_SUBSCRIPTION_ID"
	EnvAzureAccessKey      = "AZURE_STORAGE_ACCESS_KEY"
	EnvAzureAccessToken    = "AZURE_ACCESS_TOKEN"
	EnvAzureAccessExpires  = "AZURE_ACCESS_EXPIRES_ON_SECONDS"
	EnvAzureAccountName    = "AZURE_ACCOUNT_NAME"
	EnvAzureServiceURL     = "AZURE_SERVICE_URL"
	EnvAzSubscriptionID    = "AZ_SUBSCRIPTION_ID"
	EnvAzTenantID          = "AZ_TENANT_ID"
	EnvAzClientID          = "AZ_CLIENT_ID"
	EnvAzClientSecret      = "AZ_CLIENT_SECRET"
	EnvHDFSSecretDir       = "HDFS_SECRET_DIR"
	EnvGitUsername         = "GIT_USERNAME"
	EnvGitPassword         = "GIT_PASSWORD"
)

// EnvHTTPHeadersSuffix ends the name of the variable that holds, as a JSON object, the headers for a host: <host>-headers.
const EnvHTTPHeadersSuffix = "-headers"
