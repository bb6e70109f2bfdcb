// cuLink*: "compiles" PTX into an image that cuModuleLoadData takes. The text is loaded into the
// machine once to find its errors, where the real driver runs its compiler; the image is the
// text in an ELF file (image.h).
#include <cstring>

#include "lib/sim/driver/export.h"
#include "lib/sim/driver/module.h"

using namespace egpu::sim;

namespace {

class Link : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::link;
  Link(Context &its_context, unsigned count, const int *options, void **values)
      : Object(kKind), context(its_context), log(count, options, values) {}
  Context &context;
  JitLog log;  // of cuLinkCreate: the one that collects the messages of all steps
  Image image;
  std::vector<uint8_t> cubin;
  std::mutex mutex;
};

Status create(unsigned count, const int *options, void **values, Handle *made) {
  if (!made || (count && (!options || !values))) return kInvalidValue;
  CU_CONTEXT(context);
  *made = publish(std::make_shared<Link>(*context, count, options, values));
  return kSuccess;
}

Status fail(Link &link, Status status, const std::string &cause) {
  link.log.error(cause);
  link.log.finish();
  return status;
}

Status add(Link &link, Image image) {
  for (std::string &text : image.texts) {
    egpu::Result<std::shared_ptr<Module>> compiled = link.context.machine().load(text);
    if (!compiled) return fail(link, kInvalidPtx, compiled.error().message);
    link.image.texts.push_back(std::move(text));
  }
  return kSuccess;
}

Status add_data(Handle handle, int type, const void *data, size_t size_bytes) {
  CU_CONTEXT(context);
  const std::shared_ptr<Link> link = find<Link>(handle);
  if (!link) return kInvalidHandle;
  if (!data || size_bytes == 0) return kInvalidValue;
  if (type != kJitPtx && type != kJitCubin && type != kJitFatbin) return kNotSupported;
  const std::lock_guard lock(link->mutex);
  Image image;
  std::string cause;
  if (type == kJitPtx)
    image.texts.emplace_back(static_cast<const char *>(data),
                             strnlen(static_cast<const char *>(data), size_bytes));
  else if (const Status status = read_image(data, size_bytes, context->machine().config(), &image, &cause);
           status != kSuccess)
    return fail(*link, status, cause);
  return add(*link, std::move(image));
}

Status add_file(Handle handle, const char *path) {
  CU_CONTEXT(context);
  const std::shared_ptr<Link> link = find<Link>(handle);
  if (!link) return kInvalidHandle;
  if (!path) return kInvalidValue;
  const std::lock_guard lock(link->mutex);
  Image image;
  std::string cause;
  if (const Status status = read_image_file(path, context->machine().config(), &image, &cause);
      status != kSuccess)
    return fail(*link, status, cause);
  return add(*link, std::move(image));
}

}  // namespace

CU_API(cuLinkCreate, (unsigned count, int *options, void **values, Handle *link),
       (count, options, values, link)) {
  return create(count, options, values, link);
}
CU_API(cuLinkCreate_v2, (unsigned count, int *options, void **values, Handle *link),
       (count, options, values, link)) {
  return create(count, options, values, link);
}
CU_API(cuLinkAddData,
       (Handle link, int type, void *data, size_t size_bytes, const char *, unsigned, int *, void **),
       (link, type, data, size_bytes, nullptr, 0, nullptr, nullptr)) {
  return add_data(link, type, data, size_bytes);
}
CU_API(cuLinkAddData_v2,
       (Handle link, int type, void *data, size_t size_bytes, const char *, unsigned, int *, void **),
       (link, type, data, size_bytes, nullptr, 0, nullptr, nullptr)) {
  return add_data(link, type, data, size_bytes);
}
CU_API(cuLinkAddFile, (Handle link, int, const char *path, unsigned, int *, void **),
       (link, 0, path, 0, nullptr, nullptr)) {
  return add_file(link, path);
}
CU_API(cuLinkAddFile_v2, (Handle link, int, const char *path, unsigned, int *, void **),
       (link, 0, path, 0, nullptr, nullptr)) {
  return add_file(link, path);
}

CU_API(cuLinkComplete, (Handle handle, void **cubin, size_t *size_bytes), (handle, cubin, size_bytes)) {
  CU_CONTEXT(context);
  const std::shared_ptr<Link> link = find<Link>(handle);
  if (!link) return kInvalidHandle;
  if (!cubin) return kInvalidValue;
  const std::lock_guard lock(link->mutex);
  if (link->image.texts.empty()) return fail(*link, kInvalidValue, "nothing to link");
  link->cubin = linked_image(link->image, context->machine().config());
  link->log.finish();
  *cubin = link->cubin.data();
  if (size_bytes) *size_bytes = link->cubin.size();
  return kSuccess;
}
CU_API(cuLinkDestroy, (Handle handle), (handle)) {
  if (!find<Link>(handle)) return kInvalidHandle;
  retire(handle);
  return kSuccess;
}
