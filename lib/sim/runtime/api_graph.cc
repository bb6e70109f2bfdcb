// Graphs: their shape, instantiation, launch. Nodes by type: api_graph_node.cc.
#include "lib/sim/runtime/export.h"

using namespace egpu::rt;

RT_FORWARD(cudaGraphCreate, cuGraphCreate, (Handle * graph, unsigned flags), (graph, flags))
RT_FORWARD(cudaGraphDestroy, cuGraphDestroy, (Handle graph), (graph))
RT_FORWARD(cudaGraphClone, cuGraphClone, (Handle * clone, Handle graph), (clone, graph))

RT_FORWARD(cudaGraphNodeFindInClone, cuGraphNodeFindInClone, (Handle * node, Handle original, Handle clone),
           (node, original, clone))
RT_FORWARD(cudaGraphNodeGetType, cuGraphNodeGetType, (Handle node, int *type), (node, type))
RT_FORWARD(cudaGraphGetNodes, cuGraphGetNodes, (Handle graph, Handle *nodes, size_t *count),
           (graph, nodes, count))
RT_FORWARD(cudaGraphGetRootNodes, cuGraphGetRootNodes, (Handle graph, Handle *nodes, size_t *count),
           (graph, nodes, count))
RT_FORWARD(cudaGraphGetEdges, cuGraphGetEdges_v2,
           (Handle graph, Handle *from, Handle *to, void *edges, size_t *count),
           (graph, from, to, edges, count))
RT_FORWARD(cudaGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2,
           (Handle node, Handle *dependencies, void *edges, size_t *count),
           (node, dependencies, edges, count))
RT_FORWARD(cudaGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes_v2,
           (Handle node, Handle *dependents, void *edges, size_t *count), (node, dependents, edges, count))
RT_FORWARD(cudaGraphAddDependencies, cuGraphAddDependencies_v2,
           (Handle graph, const Handle *from, const Handle *to, const void *edges, size_t count),
           (graph, from, to, edges, count))
RT_FORWARD(cudaGraphRemoveDependencies, cuGraphRemoveDependencies_v2,
           (Handle graph, const Handle *from, const Handle *to, const void *edges, size_t count),
           (graph, from, to, edges, count))
RT_FORWARD(cudaGraphDestroyNode, cuGraphDestroyNode, (Handle node), (node))
RT_FORWARD(cudaGraphDebugDotPrint, cuGraphDebugDotPrint, (Handle graph, const char *path, unsigned flags),
           (graph, path, flags))

RT_FORWARD(cudaGraphInstantiate, cuGraphInstantiateWithFlags,
           (Handle * instance, Handle graph, unsigned long long flags), (instance, graph, flags))
RT_FORWARD(cudaGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,
           (Handle * instance, Handle graph, unsigned long long flags), (instance, graph, flags))
RT_STREAM_FORWARD(cudaGraphInstantiateWithParams, cuGraphInstantiateWithParams,
                  (Handle * instance, Handle graph, void *parameters), (instance, graph, parameters))
RT_FORWARD(cudaGraphExecDestroy, cuGraphExecDestroy, (Handle instance), (instance))
RT_FORWARD(cudaGraphExecGetFlags, cuGraphExecGetFlags, (Handle instance, unsigned long long *flags),
           (instance, flags))
RT_FORWARD(cudaGraphNodeSetEnabled, cuGraphNodeSetEnabled,
           (Handle instance, Handle node, unsigned is_enabled), (instance, node, is_enabled))
RT_FORWARD(cudaGraphNodeGetEnabled, cuGraphNodeGetEnabled,
           (Handle instance, Handle node, unsigned *is_enabled), (instance, node, is_enabled))
RT_FORWARD(cudaGraphExecUpdate, cuGraphExecUpdate_v2, (Handle instance, Handle graph, void *result),
           (instance, graph, result))
RT_STREAM_FORWARD(cudaGraphUpload, cuGraphUpload, (Handle instance, Handle stream), (instance, which(stream)))
RT_STREAM_FORWARD(cudaGraphLaunch, cuGraphLaunch, (Handle instance, Handle stream), (instance, which(stream)))

RT_FORWARD(cudaUserObjectCreate, cuUserObjectCreate,
           (Handle * object, void *pointer, void (*destroy)(void *), unsigned references, unsigned flags),
           (object, pointer, destroy, references, flags))
RT_FORWARD(cudaUserObjectRetain, cuUserObjectRetain, (Handle object, unsigned count), (object, count))
RT_FORWARD(cudaUserObjectRelease, cuUserObjectRelease, (Handle object, unsigned count), (object, count))
RT_FORWARD(cudaGraphRetainUserObject, cuGraphRetainUserObject,
           (Handle graph, Handle object, unsigned count, unsigned flags), (graph, object, count, flags))
RT_FORWARD(cudaGraphReleaseUserObject, cuGraphReleaseUserObject,
           (Handle graph, Handle object, unsigned count), (graph, object, count))

RT_FORWARD(cudaDeviceGetGraphMemAttribute, cuDeviceGetGraphMemAttribute,
           (Ordinal device, int attribute, void *value), (device, attribute, value))
RT_FORWARD(cudaDeviceSetGraphMemAttribute, cuDeviceSetGraphMemAttribute,
           (Ordinal device, int attribute, void *value), (device, attribute, value))
RT_FORWARD(cudaDeviceGraphMemTrim, cuDeviceGraphMemTrim, (Ordinal device), (device))
