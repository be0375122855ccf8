# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How fields of built-in kinds are owned, and which of lightkube's models are of a later version.

Source: x-kubernetes-list-type, x-kubernetes-list-map-keys and x-kubernetes-map-type in the OpenAPI
documents of Kubernetes 1.35.4; a list that is not named here is atomic. Held against a real server
by tests/functional/kubernetes.
"""

from collections.abc import Mapping

LIST_KEYS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("Container", "env"): ("name",),
    ("Container", "ports"): ("containerPort", "protocol"),
    ("Container", "volumeMounts"): ("mountPath",),
    ("Container", "volumeDevices"): ("devicePath",),
    ("EphemeralContainer", "env"): ("name",),
    ("EphemeralContainer", "volumeDevices"): ("devicePath",),
    ("EphemeralContainer", "ports"): ("containerPort", "protocol"),
    ("EphemeralContainer", "volumeMounts"): ("mountPath",),
    ("ResourceRequirements", "claims"): ("name",),
    ("PodSpec", "containers"): ("name",),
    ("PodSpec", "initContainers"): ("name",),
    ("PodSpec", "ephemeralContainers"): ("name",),
    ("PodSpec", "volumes"): ("name",),
    ("PodSpec", "imagePullSecrets"): ("name",),
    ("PodSpec", "hostAliases"): ("ip",),
    ("PodSpec", "schedulingGates"): ("name",),
    ("PodSpec", "resourceClaims"): ("name",),
    ("PodSpec", "topologySpreadConstraints"): ("topologyKey", "whenUnsatisfiable"),
    ("PodStatus", "podIPs"): ("ip",),
    ("PodStatus", "resourceClaimStatuses"): ("name",),
    ("ContainerStatus", "allocatedResourcesStatus"): ("name",),
    ("ContainerStatus", "volumeMounts"): ("mountPath",),
    ("ResourceStatus", "resources"): ("resourceID",),
    ("NodeStatus", "addresses"): ("type",),
    ("ObjectMeta", "ownerReferences"): ("uid",),
    ("ServiceSpec", "ports"): ("port", "protocol"),
    ("ServiceAccount", "secrets"): ("name",),
    ("ValidatingWebhookConfiguration", "webhooks"): ("name",),
    ("ValidatingWebhook", "matchConditions"): ("name",),
    ("MutatingWebhook", "matchConditions"): ("name",),
    ("ValidatingAdmissionPolicySpec", "matchConditions"): ("name",),
    ("ValidatingAdmissionPolicySpec", "variables"): ("name",),
    ("CSINodeSpec", "drivers"): ("name",),
    ("ResourceClaimStatus", "reservedFor"): ("uid",),
    ("ResourceClaimStatus", "devices"): ("driver", "device", "pool", "shareID"),
    ("MutatingWebhookConfiguration", "webhooks"): ("name",),
}
"""Associative lists: the fields that tell their items apart. `conditions` is one everywhere."""

LIST_SETS = frozenset(
    {
        ("ObjectMeta", "finalizers"),
        ("NodeSpec", "podCIDRs"),
        ("CSIDriverSpec", "volumeLifecycleModes"),
        ("ContainerRestartRuleOnExitCodes", "values"),
        ("PodFailurePolicyOnExitCodesRequirement", "values"),
        ("UncountedTerminatedPods", "failed"),
        ("UncountedTerminatedPods", "succeeded"),
        ("Endpoint", "addresses"),
        ("ValidatingAdmissionPolicyBindingSpec", "validationActions"),
    }
)
"""Lists of scalars that several managers may add to."""

ATOMIC_FIELDS = frozenset(
    {
        ("PodSpec", "nodeSelector"),
        ("Scheduling", "nodeSelector"),
        ("ServiceSpec", "selector"),
        ("ReplicationControllerSpec", "selector"),
    }
)
"""Maps that one manager owns as a whole."""

ATOMIC_STRUCTS = frozenset(
    {
        "LabelSelector",
        "LocalObjectReference",
        "ObjectReference",
        "TypedLocalObjectReference",
        "ObjectFieldSelector",
        "ResourceFieldSelector",
        "ConfigMapKeySelector",
        "SecretKeySelector",
        "NodeSelector",
        "NodeSelectorTerm",
        "RoleRef",
        "SecretReference",
        "TopologySelectorTerm",
        "OwnerReference",
        "Subject",
        "ScopeSelector",
        "FileKeySelector",
        "EndpointAddress",
        "EndpointPort",
        "MatchResources",
        "NamedRuleWithOperations",
        "ParamKind",
        "ParamRef",
        "ServiceBackendPort",
        "Variable",
    }
)
"""Structs that one manager owns as a whole."""

KEY_DEFAULTS: Mapping[str, str] = {"protocol": "TCP"}
"""Values of list keys that a manifest may leave out."""

GRANULAR_FIELDS = frozenset({("PersistentVolumeSpec", "claimRef")})
"""Structs that are atomic elsewhere, and not as this field."""

PLAIN_CONDITIONS = frozenset({"JobStatus"})
"""Structs whose conditions are no associative list."""

LATER_KINDS = frozenset(
    {
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        "clustertrustbundles.certificates.k8s.io",
        "podcertificaterequests.certificates.k8s.io",
        "devicetaintrules.resource.k8s.io",
    }
)
"""Resources of lightkube's models (1.37) that 1.35 does not serve in this version."""

LATER_FIELDS: Mapping[str, tuple[str, ...]] = {
    "CSIDriverSpec": ("preventPodSchedulingIfMissing",),
    "CSINode": ("status",),
    "ClusterTrustBundleProjection": ("user",),
    "ConfigMapVolumeSource": ("defaultUser",),
    "Device": ("nodeAllocatableResources",),
    "DeviceCounterConsumption": ("compatibilityGroups",),
    "DeviceRequestAllocationResult": ("skipNodeOperations",),
    "DeviceSubRequest": ("derivedAttributes",),
    "DownwardAPIVolumeFile": ("user",),
    "DownwardAPIVolumeSource": ("defaultUser",),
    "EmptyDirVolumeSource": ("mode",),
    "ExactDeviceRequest": ("derivedAttributes",),
    "GRPCAction": ("mode",),
    "HTTPGetAction": ("protocol",),
    "HorizontalPodAutoscalerCondition": ("observedGeneration",),
    "JobSpec": ("scheduling",),
    "KeyToPath": ("user",),
    "NodeSpec": ("podPreemptionPolicy",),
    "NodeSystemInfo": ("runningInUserNamespace",),
    "PersistentVolumeClaimStatus": ("healthStatus",),
    "PodCertificateProjection": ("user",),
    "PodSpec": ("evictionResponders", "schedulingGroup"),
    "PodStatus": ("nodeAllocatableResourceClaimStatuses", "volumeHealth"),
    "ProjectedVolumeSource": ("defaultUser",),
    "ResourceHealth": ("message",),
    "ResourceSliceSpec": ("partitionTypeAttribute", "skipNodeOperations"),
    "SecretVolumeSource": ("defaultUser",),
    "ServiceAccountTokenProjection": ("user",),
    "VolumeMount": ("bindMountOptions",),
    "VolumeMountStatus": ("volumeStatus",),
}
"""Fields of lightkube's models (1.37) that 1.35 refuses, by struct."""
